import os
import re
import subprocess
import sys
from pathlib import Path

FOLDER = Path(__file__).parent


def test_it_uses_nothing_but_the_public_interface() -> None:
    for file in FOLDER.glob("*.py"):
        imported = re.findall(r"^\s*(?:from|import)\s+(kcache\S*)", file.read_text(encoding="utf-8"), re.MULTILINE)
        assert set(imported) <= {"kcache"}, file.name


def test_the_sample_of_the_readme_prints_what_it_says() -> None:
    readme = (FOLDER / "README.md").read_text(encoding="utf-8")
    (sample,) = re.findall(r"```python\n(.*?)```", readme, re.DOTALL)
    (printed,) = re.findall(r"```text\n(.*?)```", readme, re.DOTALL)
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(FOLDER.parent), *sys.path])}
    ran = subprocess.run(
        [sys.executable, "-c", sample], env=environment, capture_output=True, text=True, timeout=60, check=False
    )
    assert (ran.stdout, ran.stderr) == (printed, "")
