"""Write tests/golden/optim.npz: PyTorch's results for the cases of tests/support/optimisers.py.

    pip install torch==2.13.0 numpy
    python tests/golden/make_optim.py

Needs neither autoflow nor a GPU. Then read the difference: a result that moved by more than rounding is news.
"""

import importlib.metadata
import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent.parent / "support"))
from optimisers import GOLDEN, pytorch

if __name__ == "__main__":
    found = pytorch()
    if GOLDEN.exists():
        with np.load(GOLDEN) as before:
            moved = [name for name in found if name in before and not np.allclose(found[name], before[name], 1e-13, 0)]
            print("new:", *sorted(set(found) - set(before)) or ["none"], sep="\n  ")
            print("moved:", *moved or ["none"], sep="\n  ")
    made_with = np.array(f"PyTorch {importlib.metadata.version('torch')}, NumPy {np.__version__}")
    np.savez_compressed(GOLDEN, **found, made_with=made_with)
    print(f"{GOLDEN.name}: {len(found)} results, {GOLDEN.stat().st_size} bytes, made with {made_with}")
