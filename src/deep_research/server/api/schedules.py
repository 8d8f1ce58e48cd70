"""Schedules: questions that are researched again and again."""

from fastapi import APIRouter
from pydantic import BaseModel

from deep_research.server.dependencies import Service, Who
from deep_research.service.schedules.schedules import NewSchedule, Schedule, ScheduleChange

router = APIRouter(prefix="/api/schedules", tags=["schedules"])


class ScheduleList(BaseModel):
    """All schedules of an account, the newest first."""

    schedules: list[Schedule]


@router.get("")
async def list_schedules(service: Service, who: Who) -> ScheduleList:
    """List schedules."""
    return ScheduleList(schedules=await service.schedules.list(who))


@router.post("", status_code=201)
async def create_schedule(new: NewSchedule, service: Service, who: Who) -> Schedule:
    """Have a question researched now and then again and again."""
    # What it names must be there now, and this account's.
    await service.request_of(new, who)
    made = await service.schedules.add(new, who)
    service.wake()
    return made


@router.get("/{schedule}")
async def read_schedule(schedule: str, service: Service, who: Who) -> Schedule:
    """Read a schedule, with its last notifications."""
    return await service.schedules.get(schedule, who)


@router.patch("/{schedule}")
async def change_schedule(schedule: str, change: ScheduleChange, service: Service, who: Who) -> Schedule:
    """Pause a schedule, let it go on, or change how often it is due."""
    return await service.schedules.change(schedule, change, who)


@router.post("/{schedule}/run-now")
async def run_schedule_now(schedule: str, service: Service, who: Who) -> Schedule:
    """Have a schedule due now."""
    due = await service.schedules.run_now(schedule, who)
    service.wake()
    return due


@router.delete("/{schedule}", status_code=204)
async def delete_schedule(schedule: str, service: Service, who: Who) -> None:
    """Delete a schedule; its runs stay."""
    await service.schedules.remove(schedule, who)
