"""Collections of documents: make, list, fill, search, delete. What is uploaded is never sent back."""

from typing import Annotated, Any

from fastapi import APIRouter, Query, Request, Response
from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from deep_research.documents.readers.port import one_line
from deep_research.server.api.multipart import receive_files
from deep_research.server.dependencies import Service, Who
from deep_research.service.documents.documents import Collection, CollectionContents, Found, Uploaded

router = APIRouter(prefix="/api/collections", tags=["documents"])


def _some_text(name: str) -> str:
    shown = one_line(name)
    if not shown:
        raise ValueError("it holds nothing that is shown")
    return shown


class CollectionName(BaseModel):
    """What a collection is called."""

    model_config = ConfigDict(
        extra="forbid", json_schema_extra={"examples": [{"name": "Board papers 2025"}, {"name": "海绵城市资料"}]}
    )

    name: Annotated[str, Field(min_length=1, max_length=200), AfterValidator(_some_text)]


class NewCollection(CollectionName):
    """A collection to make; one `for_question` is named after the question asked of it, and goes with its runs."""

    for_question: bool = False


class Collections(BaseModel):
    """All collections of an account; `server` is the folder of whoever runs the server, where there is one."""

    collections: list[Collection]


# The body is read piece by piece, which FastAPI cannot describe by itself.
_FORM: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "content": {
            "multipart/form-data": {
                "schema": {
                    "type": "object",
                    "properties": {
                        "files": {"type": "array", "items": {"type": "string", "format": "binary"}, "minItems": 1}
                    },
                    "required": ["files"],
                }
            }
        },
    }
}


@router.get("")
async def list_collections(service: Service, who: Who) -> Collections:
    """List collections of documents, the newest first."""
    return Collections(collections=await service.documents.list(who))


@router.post("", status_code=201)
async def create_collection(new: NewCollection, service: Service, who: Who) -> Collection:
    """Make an empty collection."""
    return await service.documents.create(new.name, who, for_question=new.for_question)


@router.get("/{collection}")
async def read_collection(collection: str, service: Service, who: Who) -> CollectionContents:
    """Read what a collection holds; files that were just added are read in the background."""
    return await service.documents.read(collection, who)


@router.patch("/{collection}")
async def rename_collection(collection: str, new: CollectionName, service: Service, who: Who) -> Collection:
    """Give a collection another name."""
    return await service.documents.rename(collection, new.name, who)


@router.delete("/{collection}", status_code=204)
async def delete_collection(collection: str, service: Service, who: Who) -> None:
    """Delete a collection and its files; runs that were made with it keep what they quote."""
    await service.documents.delete(collection, who)


@router.post(
    "/{collection}/files",
    status_code=201,
    openapi_extra=_FORM,
    responses={200: {"model": Uploaded, "description": "Nothing was added; `refused` says why."}},
)
async def add_files(collection: str, request: Request, response: Response, service: Service, who: Who) -> Uploaded:
    """Add files, several at once; those that cannot be read are refused with a reason, the others are kept."""
    documents = service.documents
    async with documents.upload(collection, who) as upload:
        await receive_files(request, upload, max_bytes=documents.limits.sent_bytes)
        uploaded = await documents.add(collection, upload.files, who)
    if not uploaded.added:
        response.status_code = 200
    return uploaded


@router.delete("/{collection}/files/{file}", status_code=204)
async def delete_file(collection: str, file: str, service: Service, who: Who) -> None:
    """Delete a file; runs that were made with it keep what they quote."""
    await service.documents.remove_file(collection, file, who)


@router.get("/{collection}/search")
async def search_collection(
    collection: str,
    service: Service,
    who: Who,
    q: Annotated[str, Query(min_length=1, max_length=1_000, description="What to look for.")],
    limit: Annotated[int, Query(ge=1, le=50)] = 10,
) -> Found:
    """Find passages in what has been read so far."""
    return await service.documents.search(collection, q, who, limit=limit)
