# muxpilot as a program, with tmux beside it: an environment made of packages does not follow what they need.
{
  lib,
  python3Packages,
  tmux,
}:
python3Packages.buildPythonApplication {
  pname = "muxpilot";
  version = "0.2.0";
  pyproject = true;

  src = lib.cleanSource ../.;

  build-system = [ python3Packages.hatchling ];

  dependencies = with python3Packages; [
    google-re2
    httptools
    rapidfuzz
    tree-sitter
    tree-sitter-grammars.tree-sitter-bash
    uvicorn
  ];

  makeWrapperArgs = [ "--prefix PATH : ${lib.makeBinPath [ tmux ]}" ];

  # They start tmux servers by the hundred and want a machine of their own: ./dev test.
  doCheck = false;
  pythonImportsCheck = [ "muxpilot" ];

  meta = {
    description = "The tmux server for AI agents";
    license = [
      lib.licenses.mit
      lib.licenses.ofl
    ];
    mainProgram = "muxpilot";
    platforms = lib.platforms.unix;
  };
}
