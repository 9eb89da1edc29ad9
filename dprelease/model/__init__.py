"""The vocabulary: every frozen value that flows through the pipeline.

It imports the standard library and msgspec alone. ``Release`` is what the spec says, ``Plan`` what
will be done, ``AggregateRequest`` what an engine is asked, ``ExactTable`` what it answers (never
shown to anyone), ``NoisyTable`` what may be published.

Two units run through everything: a *value* is what people read (euros, days), a *grid integer*
``k`` stands for the value ``k * grid.step``. Everything private is counted in grid integers.
"""

from __future__ import annotations

from dprelease.model.columns import NUMERIC_TYPES as NUMERIC_TYPES
from dprelease.model.columns import STATES as STATES
from dprelease.model.columns import Column as Column
from dprelease.model.columns import ColumnType as ColumnType
from dprelease.model.columns import Expression as Expression
from dprelease.model.columns import Grid as Grid
from dprelease.model.loss import Loss as Loss
from dprelease.model.loss import Noise as Noise
from dprelease.model.loss import NoiseFamily as NoiseFamily
from dprelease.model.loss import Sensitivity as Sensitivity
from dprelease.model.outputs import AS_WRITTEN as AS_WRITTEN
from dprelease.model.outputs import ColumnNames as ColumnNames
from dprelease.model.outputs import Names as Names
from dprelease.model.outputs import OutputColumn as OutputColumn
from dprelease.model.outputs import OutputTable as OutputTable
from dprelease.model.plans import Form as Form
from dprelease.model.plans import NoisyTable as NoisyTable
from dprelease.model.plans import Plan as Plan
from dprelease.model.plans import QuantileScheme as QuantileScheme
from dprelease.model.plans import QuantileStep as QuantileStep
from dprelease.model.plans import Read as Read
from dprelease.model.plans import Reading as Reading
from dprelease.model.plans import Step as Step
from dprelease.model.queries import AS_RELEASED as AS_RELEASED
from dprelease.model.queries import MOST_CLIPPED as MOST_CLIPPED
from dprelease.model.queries import Accuracy as Accuracy
from dprelease.model.queries import Candidates as Candidates
from dprelease.model.queries import Clip as Clip
from dprelease.model.queries import ClipNorm as ClipNorm
from dprelease.model.queries import CurveAxis as CurveAxis
from dprelease.model.queries import Finish as Finish
from dprelease.model.queries import Group as Group
from dprelease.model.queries import KeySelection as KeySelection
from dprelease.model.queries import Part as Part
from dprelease.model.queries import Query as Query
from dprelease.model.record_tables import ExactRecords as ExactRecords
from dprelease.model.record_tables import LaplaceLaw as LaplaceLaw
from dprelease.model.record_tables import Law as Law
from dprelease.model.record_tables import Mechanism as Mechanism
from dprelease.model.record_tables import Perturb as Perturb
from dprelease.model.record_tables import PerturbedColumn as PerturbedColumn
from dprelease.model.record_tables import RecordRequest as RecordRequest
from dprelease.model.record_tables import RecordStep as RecordStep
from dprelease.model.record_tables import Response as Response
from dprelease.model.record_tables import StoredTable as StoredTable
from dprelease.model.record_tables import SubsetLaw as SubsetLaw
from dprelease.model.record_tables import Tally as Tally
from dprelease.model.record_tables import Window as Window
from dprelease.model.record_tables import WindowLaw as WindowLaw
from dprelease.model.release import ON_SERVER as ON_SERVER
from dprelease.model.release import About as About
from dprelease.model.release import Adjacency as Adjacency
from dprelease.model.release import Bounding as Bounding
from dprelease.model.release import Data as Data
from dprelease.model.release import LedgerSettings as LedgerSettings
from dprelease.model.release import ListFile as ListFile
from dprelease.model.release import Output as Output
from dprelease.model.release import Privacy as Privacy
from dprelease.model.release import Release as Release
from dprelease.model.release import Review as Review
from dprelease.model.release import is_server as is_server
from dprelease.model.requests import AggregateRequest as AggregateRequest
from dprelease.model.requests import Bound as Bound
from dprelease.model.requests import Database as Database
from dprelease.model.requests import Dialect as Dialect
from dprelease.model.requests import ExactTable as ExactTable
from dprelease.model.requests import InputColumn as InputColumn
from dprelease.model.requests import Measure as Measure
from dprelease.model.requests import MeasureKind as MeasureKind
from dprelease.model.requests import Quantity as Quantity
from dprelease.model.requests import Source as Source
from dprelease.model.strategies import CENTRED as CENTRED
from dprelease.model.strategies import EACH as EACH
from dprelease.model.strategies import AxisKind as AxisKind
from dprelease.model.strategies import AxisMatrix as AxisMatrix
from dprelease.model.strategies import Strategy as Strategy
from dprelease.model.strategies import Term as Term
