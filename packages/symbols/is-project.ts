// Whether a folder is a project whose map is worth its place in the prompt. A home folder is not.
import fs from "node:fs";
import path from "node:path";

const PROJECT_SIGNS = (
  ".git package.json tsconfig.json jsconfig.json deno.json pyproject.toml setup.py " +
  "requirements.txt go.mod Cargo.toml pom.xml build.gradle build.gradle.kts composer.json " +
  "Gemfile CMakeLists.txt Package.swift"
).split(" ");

export const isProject = (root: string): boolean =>
  PROJECT_SIGNS.some((projectSign) => fs.existsSync(path.join(root, projectSign)));
