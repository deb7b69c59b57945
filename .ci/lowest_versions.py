"""The lowest version of each package that kcache needs when it runs, as constraints for pip."""

import tomllib
from pathlib import Path

project = tomllib.loads(Path("pyproject.toml").read_text(encoding="utf-8"))["project"]
for needed in (project["dependencies"], *project["optional-dependencies"].values()):
    print("\n".join(needed).replace(">=", "=="))
