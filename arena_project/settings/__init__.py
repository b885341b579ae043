"""The settings, by what they are about. Every variable is described in .env.example; none is needed to start."""

from arena_project.settings.api import *
from arena_project.settings.arena import *
from arena_project.settings.background import *
from arena_project.settings.base import *
from arena_project.settings.data import *
from arena_project.settings.engines import *
from arena_project.settings.observing import *
from arena_project.settings.people import *
from arena_project.settings.security import *
from arena_project.settings.web import *
