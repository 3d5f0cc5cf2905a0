"""`python -m tests.chaos PLOT FOLDER`: plays one story and writes how it ended into the folder."""

import pickle
import sys
from pathlib import Path

from tests.chaos.playing import ENDING, play_through
from tests.chaos.plots import PLOTS

_, plot, folder = sys.argv
(Path(folder) / ENDING).write_bytes(pickle.dumps(play_through(Path(folder), PLOTS[plot])))
