"""sarif.py TESSERA: logs of `check --sarif` have the fields that the schema of SARIF 2.1.0 requires,
with their types, and their fixes repair the file."""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

# Required properties of each object, with types, and the objects inside of it (section numbers of
# the standard: sarifLog 3.13, run 3.14, tool 3.18, toolComponent 3.19, reportingDescriptor 3.49,
# result 3.27, location 3.28, physicalLocation 3.29, region 3.30, fix 3.55, artifactChange 3.56,
# replacement 3.57).
REQUIRED = {
    "log": {"version": str, "runs": ["run"]},
    "run": {"tool": "tool", "results": ["result"]},
    "tool": {"driver": "driver"},
    "driver": {"name": str, "version": str, "rules": ["rule"]},
    "rule": {"id": str, "shortDescription": "message"},
    "result": {"message": "message", "ruleId": str, "level": str, "locations": ["location"]},
    "message": {"text": str},
    "location": {"physicalLocation": "place"},
    "place": {"artifactLocation": "artifact"},
    "artifact": {"uri": str},
    "fix": {"artifactChanges": ["change"], "description": "message"},
    "change": {"artifactLocation": "artifact", "replacements": ["replacement"]},
    "replacement": {"deletedRegion": "region", "insertedContent": "message"},
    "region": {"startLine": int},
}
OPTIONAL = {
    "log": {"$schema": str},
    "rule": {"name": str},
    "result": {"ruleIndex": int, "fixes": ["fix"], "relatedLocations": ["location"]},
    "location": {"message": "message"},
    "place": {"region": "region"},
    "region": {"startColumn": int, "endColumn": int},
}


def check(value, kind):
    if isinstance(kind, type):
        assert isinstance(value, kind), (value, kind)
    elif isinstance(kind, list):
        assert isinstance(value, list), (value, kind)
        for one in value:
            check(one, kind[0])
    else:
        required, optional = REQUIRED[kind], OPTIONAL.get(kind, {})
        for name in required:
            assert name in value, f"{kind} lacks {name}"
        for name, inner in value.items():
            assert name in required or name in optional, f"{kind} has {name}"
            check(inner, {**optional, **required}[name])
        if kind == "result":
            assert value["level"] in ("none", "note", "warning", "error")
        if kind == "artifact":
            assert re.fullmatch(r"[A-Za-z0-9._~/%-]+", value["uri"]), value["uri"]
        if kind == "region":
            assert all(number >= 1 for number in value.values()), value
        if kind in ("fix", "change"):
            assert value.get("artifactChanges", value.get("replacements"))


def sarif_of(tessera, *arguments):
    run = subprocess.run([tessera, "check", "--sarif", *arguments], capture_output=True, text=True)
    assert run.stderr == "", run.stderr
    log = json.loads(run.stdout)
    check(log, "log")
    assert log["version"] == "2.1.0"
    (only,) = log["runs"]
    rules = only["tool"]["driver"]["rules"]
    for result in only["results"]:
        assert rules[result["ruleIndex"]]["id"] == result["ruleId"]
    assert run.returncode == (1 if only["results"] else 0)
    return only["results"]


def apply_edit(path, edit):
    place = edit["range"]
    with open(path) as file:
        lines = file.read().split("\n")
    line = lines[place["line"] - 1]
    begin, end = place["begin"] - 1, place["end"] - 1
    assert os.path.samefile(place["file"], path) and line[begin:end] == edit["replaced"]
    lines[place["line"] - 1] = line[:begin] + edit["replacement"] + line[end:]
    with open(path, "w") as file:
        file.write("\n".join(lines))


def apply(path, fix):
    for change in fix["artifactChanges"]:
        for replacement in change["replacements"]:
            region = replacement["deletedRegion"]
            with open(path) as file:
                lines = file.read().split("\n")
            k, begin, end = region["startLine"] - 1, region["startColumn"] - 1, region["endColumn"] - 1
            lines[k] = lines[k][:begin] + replacement["insertedContent"]["text"] + lines[k][end:]
            with open(path, "w") as file:
                file.write("\n".join(lines))


def main(tessera):
    assert sarif_of(tessera, "mlp.txt") == []
    for name in sorted(os.listdir(".")):
        if name.endswith((".txt", ".mlir")):
            sarif_of(tessera, name)
    with tempfile.TemporaryDirectory() as folder:
        # The op is misspelt, and the declared type is wrong. The first fix of each repairs it.
        for name in ("bad_unknown_op.txt", "bad_wrong_type.txt"):
            path = os.path.join(folder, "a copy of " + name)
            shutil.copy(name, path)
            (result,) = sarif_of(tessera, path)
            apply(path, result["fixes"][0])
            assert sarif_of(tessera, path) == [], name
            # The same by the ranges of --json.
            shutil.copy(name, path)
            run = subprocess.run([tessera, "check", "--json", path], capture_output=True, text=True)
            apply_edit(path, json.loads(run.stdout)[0]["fixes"][0]["edit"])
            assert sarif_of(tessera, path) == [], name


main(os.path.abspath(sys.argv[1]))
