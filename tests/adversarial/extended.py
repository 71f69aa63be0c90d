"""Linear algebra in 80 bits: the textbook's algorithms in numpy's longdouble, for small matrices.

Everything is slow and plain on purpose. Rows are orthogonalised, never their Gram matrices, so that
a condition number enters once; Jacobi's methods keep small values beside large ones.
"""

import numpy as np

EPS = np.finfo(np.longdouble).eps
AVAILABLE = EPS < 1e-18  # elsewhere longdouble is a double

# Residuals of columns, relative to their norms, that count as zero. Data of the campaign are
# either dependent exactly (1e-19 in 80 bits) or not nearly so (1e-9).
DEPENDENT = np.longdouble(1e-13)

# Jacobi's methods converge quadratically: 5 to 8 sweeps do.
_SWEEPS = 14


def extended(X):
    return np.asarray(X, dtype=np.longdouble)


def centred(X):
    """Without its mean; a common offset goes first, exactly."""
    X = extended(X)
    X = X - X[0]
    return X - X.mean(axis=0)


def norm(X):
    return np.sqrt(np.sum(X * X))


def orthonormal(G, least=DEPENDENT):
    """Q with orthonormal columns and W with GW = Q: Gram-Schmidt twice, largest residual first.

    Columns are brought to length 1 first; residuals up to `least` of that count as zero, so that W
    has as many columns as G has rank.
    """
    G = extended(G)
    lengths = np.sqrt(np.sum(G * G, axis=0))
    scale = np.where(lengths > 0, 1 / np.where(lengths > 0, lengths, 1), 0)
    rest, coefficients = G * scale, np.diag(scale)
    left = list(np.flatnonzero(scale))
    Q, W = [], []
    while left:
        sizes = np.sqrt(np.sum(rest[:, left] ** 2, axis=0))
        if sizes.max() <= least:
            break
        j = left.pop(int(np.argmax(sizes)))
        for _ in range(2):
            for q, w in zip(Q, W, strict=True):
                part = np.sum(q * rest[:, j])
                rest[:, j] -= part * q
                coefficients[:, j] -= part * w
        size = norm(rest[:, j])
        q, w = rest[:, j] / size, coefficients[:, j] / size
        Q.append(q)
        W.append(w)
        for i in left:
            part = np.sum(q * rest[:, i])
            rest[:, i] -= part * q
            coefficients[:, i] -= part * w
    k = len(Q)
    return (
        np.array(Q, dtype=np.longdouble).reshape(k, len(G)).T,
        np.array(W, dtype=np.longdouble).reshape(k, G.shape[1]).T,
    )


def basis(M):
    """Orthonormal basis of the span of M's columns."""
    return orthonormal(M)[0]


def complement(M, d):
    """Orthonormal basis of what is orthogonal to the orthonormal columns of M, in d dimensions."""
    return eigh(np.eye(d, dtype=np.longdouble) - M @ M.T)[1][:, : d - M.shape[1]]


def _rounds(k):
    """Every pair of k columns once, as rounds of pairs that share none (a tournament)."""
    if k < 2:
        return
    players = list(range(k + k % 2))
    for _ in range(len(players) - 1):
        half = len(players) // 2
        pairs = zip(players[:half], reversed(players[half:]), strict=True)
        p, q = zip(*((min(i, j), max(i, j)) for i, j in pairs if max(i, j) < k), strict=True)
        yield np.array(p), np.array(q)
        players.insert(1, players.pop())


def _rotations(app, aqq, apq):
    """Cosines and sines that annihilate apq, and whether there was anything to annihilate."""
    busy = np.abs(apq) > EPS * np.sqrt(np.abs(app)) * np.sqrt(np.abs(aqq))
    safe = np.where(busy, apq, 1)
    zeta = (aqq - app) / (2 * safe)
    t = np.where(zeta >= 0, 1, -1) / (np.abs(zeta) + np.hypot(zeta, np.longdouble(1)))
    t = np.where(busy, t, 0)
    c = 1 / np.sqrt(1 + t * t)
    return c, c * t, bool(busy.any())


def _turn(A, p, q, c, s):
    """Columns p and q of A, rotated."""
    A[:, p], A[:, q] = c * A[:, p] - s * A[:, q], s * A[:, p] + c * A[:, q]


def eigh(S):
    """Eigenvalues of the symmetric S, largest first, and eigenvectors: Jacobi's method."""
    S = extended(S).copy()
    V = np.eye(len(S), dtype=np.longdouble)
    for _ in range(_SWEEPS):
        busy = False
        for p, q in _rounds(len(S)):
            c, s, found = _rotations(S[p, p], S[q, q], S[p, q])
            busy |= found
            if found:
                _turn(S, p, q, c, s)
                _turn(S.T, p, q, c, s)
                _turn(V, p, q, c, s)
        if not busy:
            break
    order = np.argsort(-np.diag(S))
    return np.diag(S)[order], V[:, order]


def svd(A):
    """U (left), s, V with A = U diag(s) V', largest first: one-sided Jacobi, zeros left out."""
    A = extended(A)
    if A.shape[1] > A.shape[0]:
        V, s, U = svd(A.T)
        return U, s, V
    A, V = A.copy(), np.eye(A.shape[1], dtype=np.longdouble)
    for _ in range(_SWEEPS):
        busy = False
        for p, q in _rounds(A.shape[1]):
            app, aqq, apq = (np.sum(A[:, i] * A[:, j], axis=0) for i, j in ((p, p), (q, q), (p, q)))
            c, s, found = _rotations(app, aqq, apq)
            busy |= found
            if found:
                _turn(A, p, q, c, s)
                _turn(V, p, q, c, s)
        if not busy:
            break
    sizes = np.sqrt(np.sum(A * A, axis=0))
    order = [j for j in np.argsort(-sizes) if sizes[j] > 0]
    return A[:, order] / sizes[order], sizes[order], V[:, order]
