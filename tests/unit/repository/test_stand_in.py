"""The git folder that stands in for the real one, in a linked worktree with submodules."""

from redgreenrefactor.repository.repository import open_repository
from redgreenrefactor.repository.workspace import GitWorkspace
from repos import MakeRepo, Repo


def test_every_checkout_is_shown_its_own_submodules(make_repo: MakeRepo) -> None:
    library, repo = make_repo("library"), make_repo("main")
    allow = ("-c", "protocol.file.allow=always")
    repo.git(*allow, "submodule", "add", "-q", str(library.path), "sub")
    repo.git("commit", "-q", "-m", "chore: library")
    linked = repo.path.parent / "linked"
    repo.git("worktree", "add", "-q", str(linked))
    Repo(linked, repo.env).git(*allow, "submodule", "--quiet", "update", "--init")
    for place, modules in ((repo.path, ".git/modules"), (linked, ".git/worktrees/linked/modules")):
        repository = open_repository(place, repo.env)
        shown = dict(GitWorkspace(repository).lend().shown())
        assert shown[repository.git_dir / "modules"] == repo.path / modules
        repository.close()
