"""The examples of docs/python.md print what the page shows."""

import contextlib
import io
import os
import pathlib
import re

import tessera

PAGE = pathlib.Path(__file__).resolve().parents[2] / "docs" / "python.md"
BLOCK = re.compile(r"```python\n(.*?)```(?:\n\n```text\n(.*?)```)?", re.DOTALL)


def test_examples(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # they write files
    page, names, shown = PAGE.read_text(), {"tessera": tessera}, []
    examples = list(BLOCK.finditer(page))
    assert len(examples) >= 5
    for example in examples:
        # The first one is the file of the others, as functions have lines there.
        source = example[1]
        path = tmp_path / "model.py"
        if not path.exists():
            path.write_text(source)
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(source, str(path), "exec"), names)
        assert example[2] in (None, printed.getvalue()) or os.environ.get("UPDATE_GOLDEN")
        text = f"```python\n{source}```"
        if example[2] is not None:
            text += f"\n\n```text\n{printed.getvalue()}```"
        shown.append(text)
    if os.environ.get("UPDATE_GOLDEN"):
        texts = iter(shown)
        PAGE.write_text(BLOCK.sub(lambda _: next(texts), page))
