// References of special functions of several operands. They are computed in long double.
#pragma once

namespace tessera::ops::reference {

double Zeta(double s, double q);
double LowerGamma(double a, double x);
double UpperGamma(double a, double x);
double LowerGammaByShape(double a, double x);
double GammaSampleByShape(double a, double x);
double IncompleteBeta(double a, double b, double x);
double ExponentialIntegral(double n, double x);

}  // namespace tessera::ops::reference
