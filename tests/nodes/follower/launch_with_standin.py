"""`steadyhand follower` with a stand-in for the control plane; the command line is the command's."""

import sys
from pathlib import Path
from unittest.mock import patch

from steadyhand.cli.main import main
from steadyhand.nodes.follower import launch_settings

STAND_IN = str(Path(__file__).resolve().with_name("standin_control_plane.py"))

if __name__ == "__main__":
    real = launch_settings.LauncherSettings
    with patch.object(
        launch_settings, "LauncherSettings", lambda **told: real(control_plane=(STAND_IN,), **told)
    ):
        main(sys.argv[1:])
