# npm.sh FOLDER: let npm install local packages with its progress bar; nothing is downloaded.
set -e
folder=$1/npm
names=
for number in 1 2 3 4 5 6; do
    mkdir -p "$folder/p$number"
    printf '{"name": "p%s", "version": "1.0.0"}' "$number" >"$folder/p$number/package.json"
    names="$names ./p$number"
done
cd "$folder"
printf '{"name": "top", "version": "1.0.0"}' >package.json
npm install --offline --progress=true --no-audit --no-fund $names
npm ls --color=always
npm run missing
