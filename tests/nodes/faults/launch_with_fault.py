"""`steadyhand follower` with `faulty_data_plane`; the command line is the command's."""

import sys
from pathlib import Path
from unittest.mock import patch

from steadyhand.cli.main import main
from steadyhand.nodes.follower import launch_settings

FAULTY = str(Path(__file__).resolve().with_name("faulty_data_plane.py"))

if __name__ == "__main__":
    with patch.object(launch_settings, "DATA_PLANE", (FAULTY,)):
        main(sys.argv[1:])
