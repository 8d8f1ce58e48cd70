"""What the index says about itself, and forgetting a folder."""

import sqlite3

from deep_research.documents.corpus.folder import Catalogue, FolderCorpus


async def test_folders_and_documents_are_listed(corpus, docs, tmp_path):
    (docs / "a.md").write_text("---\ntitle: Apples\nauthor: A. Grower\ndate: 2025-02-01\n---\n\nApples are red.")
    (docs / "broken.pdf").write_bytes(b"%PDF-1.7 and nothing more")
    await corpus.refresh()
    catalogue = Catalogue(tmp_path / "state" / "corpus.db")
    (folder,) = catalogue.folders()
    assert (folder.path, folder.files, folder.documents, folder.passages, folder.skipped) == (str(docs), 2, 1, 1, 1)
    assert folder.refreshed.endswith("Z")
    (document,) = catalogue.documents(docs)
    assert (document.address, document.title, document.author) == ("a.md", "Apples", "A. Grower")
    assert (document.language, document.published, document.passages) == ("en", "2025-02-01", 1)
    assert (await corpus.search("apples", limit=1))[0].author == "A. Grower"


async def test_a_forgotten_folder_leaves_nothing_and_the_others_alone(tmp_path):
    index = tmp_path / "corpus.db"
    folders = [tmp_path / "one", tmp_path / "two"]
    for folder in folders:
        folder.mkdir()
        (folder / "a.md").write_text(f"Apples of {folder.name}.")
        corpus = FolderCorpus(folder, index=index)
        await corpus.refresh()
        await corpus.close()
    catalogue = Catalogue(index)
    assert catalogue.forget(folders[0])
    assert not catalogue.forget(folders[0])
    assert [folder.path for folder in catalogue.folders()] == [str(folders[1])]
    assert catalogue.documents(folders[0]) == []
    with sqlite3.connect(index) as file:
        for table in ("files", "documents", "passages", "texts"):
            assert file.execute(f"SELECT count(*) FROM corpus_{table}").fetchone() == (1,)
        assert file.execute("SELECT count(*) FROM sqlite_master WHERE name LIKE 'terms_1%'").fetchone() == (0,)
    file.close()
    again = FolderCorpus(folders[0], index=index)
    assert (await again.refresh()).read_now == 1
    assert len(await again.search("apples", limit=5)) == 1
    await again.close()
