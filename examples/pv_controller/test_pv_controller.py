import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parent


def test_it_uses_nothing_but_the_public_interface() -> None:
    for file in FOLDER.glob("*.py"):
        if file.name in ("fake_api.py", "cluster.py"):  # parts of the tests
            continue
        imported = re.findall(r"^\s*(?:from|import)\s+(kcache\S*)", file.read_text(encoding="utf-8"), re.MULTILINE)
        assert set(imported) <= {"kcache", "kcache.informers"}, file.name


README = (FOLDER / "README.md").read_text(encoding="utf-8")
SAMPLES = re.findall(r"```python\n(.*?)```.*?```text\n(.*?)```", README, re.DOTALL)


@pytest.mark.parametrize(("sample", "printed"), SAMPLES, ids=["pieces", "controller"])
def test_the_samples_of_the_readme_print_what_it_says(sample: str, printed: str) -> None:
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(FOLDER.parent), *sys.path])}
    ran = subprocess.run(
        [sys.executable, "-c", sample], env=environment, capture_output=True, text=True, timeout=60, check=False
    )
    assert (ran.stdout, ran.stderr) == (printed, "")
