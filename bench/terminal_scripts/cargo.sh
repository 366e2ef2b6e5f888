# cargo.sh FOLDER: let cargo build local crates with its progress bar; nothing is downloaded.
set -e
folder=$1/cargo
mkdir -p "$folder/src"
printf '[package]\nname = "top"\nversion = "0.1.0"\nedition = "2021"\n[dependencies]\n' >"$folder/Cargo.toml"
echo 'fn main() { let unused = 1; }' >"$folder/src/main.rs"
for number in 1 2 3 4 5 6; do
    mkdir -p "$folder/c$number/src"
    printf '[package]\nname = "c%s"\nversion = "0.1.0"\nedition = "2021"\n' "$number" >"$folder/c$number/Cargo.toml"
    echo 'pub fn f() {}' >"$folder/c$number/src/lib.rs"
    echo "c$number = { path = \"c$number\" }" >>"$folder/Cargo.toml"
done
cd "$folder"
CARGO_TERM_PROGRESS_WHEN=always CARGO_TERM_PROGRESS_WIDTH=70 CARGO_TERM_COLOR=always cargo build --offline -j1
