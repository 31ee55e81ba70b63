// Takes the addresses out of npm's lock: of those who take donations. Told: the lock.
import { readFileSync, writeFileSync } from "node:fs";

const [path] = process.argv.slice(2);
const lock = JSON.parse(readFileSync(path, "utf8"));
for (const found of Object.values(lock.packages)) delete found.funding;
writeFileSync(path, `${JSON.stringify(lock, null, 2)}\n`);
