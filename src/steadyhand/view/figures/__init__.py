"""The pictures of the playout rules, drawn by running the rules on scripted arrivals.

A script says what the network does; the real buffer decides on a clock that is turned by hand;
what it answered is drawn. So a picture cannot say anything the code does not do.
"""

from steadyhand.view.figures.files import render_all, write_all
from steadyhand.view.figures.player import Trace, play
from steadyhand.view.figures.scripts import SCRIPTS, Script

__all__ = ["SCRIPTS", "Script", "Trace", "play", "render_all", "write_all"]
