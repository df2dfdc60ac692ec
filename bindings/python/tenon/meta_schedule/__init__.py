"""MetaSchedule: a search for schedules, and the database that it keeps them in.

    from tenon import meta_schedule as ms, relay

    database = ms.relay_integration.tune_relay(mod, params, "llvm", work_dir="found", max_trials_global=200)
    module = ms.relay_integration.compile_relay(database, mod, "llvm", params)

    with ms.database.JSONDatabase(work_dir="found"):     # another time
        module = relay.build(mod, target="llvm", params=params)

The names are those that users of TVM know. The search is that of tenon.tune with generator "sketch"; the database is a folder with
the two files of TVM's JSONDatabase, which every file of records of Tenon may be (docs/tuning.md).
"""
from . import (builder, database, mutator, postproc, relay_integration, runner, schedule_rule, space_generator, tir_integration,
               utils)
from ._search import TuneConfig
from .database import Database, JSONDatabase, TuningRecord, Workload
from .mutator import Mutator
from .postproc import Postproc
from .relay_integration import compile_relay, extract_tasks, tune_relay
from .schedule_rule import ScheduleRule
from .space_generator import SpaceGenerator, TuneContext
from .tir_integration import compile_tir, tune_tir
from .utils import derived_object

__all__ = ["Database", "JSONDatabase", "Mutator", "Postproc", "ScheduleRule", "SpaceGenerator", "TuneConfig", "TuneContext",
           "TuningRecord", "Workload", "builder", "compile_relay", "compile_tir", "database", "derived_object", "extract_tasks", "mutator",
           "postproc", "relay_integration", "runner", "schedule_rule", "space_generator", "tir_integration", "tune_relay", "tune_tir",
           "utils"]
