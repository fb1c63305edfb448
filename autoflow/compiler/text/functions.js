// What programs call and JavaScript lacks, beside the functions of pictures/sliders/explore.js.

function erf(x) { // its series, whose terms have one sign; for large numbers by erfc
  const z = Math.abs(x);
  if (z > 2.4) return x > 0 ? 1 - erfc(x) : erfc(-x) - 1;
  let term = z, sum = z;
  for (let n = 1; n < 80 && term > 1e-18 * sum; n++) sum += term *= (2 * z * z) / (2 * n + 1);
  return x !== x ? x : Math.sign(x) * 2 / Math.sqrt(Math.PI) * Math.exp(-z * z) * sum;
}

function erfc(x) { // a continued fraction, from its end
  if (!(x > 1)) return 1 - erf(x);
  const near = Math.min(28, Math.round(16 * x) / 16); // its square is exact; erfc(28) is 0
  let f = 0;
  for (let k = 20 + Math.ceil(200 / (x * x)); k > 0; k--) f = k / 2 / (x + f);
  return Math.exp(-near * near) * Math.exp((near - x) * (near + x)) / Math.sqrt(Math.PI) / (x + f);
}

function logit(p) { // around 1/2, where it is 0, of the distance
  return Math.abs(p - 0.5) < 0.25 ? 2 * Math.atanh(2 * p - 1) : Math.log(p / (1 - p));
}

const STIRLING = [1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360360, 1 / 156];

function gammaln(x) { // Stirling's series, from 10 on; below by Γ(x + 1) = x Γ(x)
  if (!isFinite(x)) return x;
  if (x <= 0) return x === Math.floor(x) ? Infinity : Math.log(Math.PI / Math.abs(Math.sin(Math.PI * (x - Math.floor(x))))) - gammaln(1 - x);
  let product = 1, s = 0;
  if (x > 0.5 && x < 4) { // the difference from Γ(1) = 1, or from Γ(2) = 1: near them only that is exact
    const one = x < 1.5 ? 1 : 2, t = x - one, step = Math.log1p(t / 10);
    for (let k = 6; k >= 0; k--) s += STIRLING[k] / 10 ** (2 * k + 1) * Math.expm1(-(2 * k + 1) * step);
    for (let k = 9; k >= one; k--) s -= Math.log1p(t / k);
    return s + t * (Math.LN10 - 1) + (9.5 + t) * step;
  }
  for (; x < 10; x++) product *= x;
  for (let k = 6; k >= 0; k--) s = STIRLING[k] + s / (x * x);
  return (x - 0.5) * Math.log(x) - x + 0.5 * Math.log(2 * Math.PI) + s / x - Math.log(product);
}

function psi(x) { // the derivative of gammaln, in the same way
  if (x === 0) return -1 / x;
  if (x < 0) return x === Math.floor(x) ? NaN : psi(1 - x) - Math.PI / Math.tan(Math.PI * x);
  let below = 0, s = 0;
  for (; x < 10; x++) below += 1 / x;
  for (let k = 6; k >= 0; k--) s = STIRLING[k] * (2 * k + 1) + s / (x * x);
  return Math.log(x) - 0.5 / x - s / (x * x) - below;
}

function sorted(a) { // the places of its numbers in order; NaN last, equal ones as they were
  return a.map((_, k) => k).sort((p, q) => a[p] - a[q] || (a[p] !== a[p]) - (a[q] !== a[q]) || p - q);
}

function solve(a, b, n, m) { // a x = b by elimination, the largest pivot first; changes both
  for (let k = 0; k < n; k++) {
    let p = k;
    for (let i = k + 1; i < n; i++) if (Math.abs(a[i * n + k]) > Math.abs(a[p * n + k])) p = i;
    for (let j = 0; j < n && p !== k; j++) [a[k * n + j], a[p * n + j]] = [a[p * n + j], a[k * n + j]];
    for (let j = 0; j < m && p !== k; j++) [b[k * m + j], b[p * m + j]] = [b[p * m + j], b[k * m + j]];
    for (let i = k + 1; i < n; i++) {
      const f = a[i * n + k] / a[k * n + k];
      for (let j = k; j < n; j++) a[i * n + j] -= f * a[k * n + j];
      for (let j = 0; j < m; j++) b[i * m + j] -= f * b[k * m + j];
    }
  }
  for (let i = n - 1; i >= 0; i--) for (let j = 0; j < m; j++) {
    for (let k = i + 1; k < n; k++) b[i * m + j] -= a[i * n + k] * b[k * m + j];
    b[i * m + j] /= a[i * n + i];
  }
  return b;
}
