"""The pages are followed with page_steps.py, some against the API server of the tests, wherever the tests lie."""

import sys
from pathlib import Path

_FOLDER = Path(__file__).resolve().parent
sys.path += [str(folder) for folder in (_FOLDER, _FOLDER.parent) if str(folder) not in sys.path]
