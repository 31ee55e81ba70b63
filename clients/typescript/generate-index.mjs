// Writes src/gen/v1.ts, which exports the generated messages of every file of the contract.
import { readdirSync, writeFileSync } from "node:fs";

const files = readdirSync("src/gen/onnxplain/v1").filter((name) => name.endsWith("_pb.ts"));
const lines = files
  .sort()
  .map((name) => `export * from "./onnxplain/v1/${name.replace(/ts$/, "js")}";\n`);
writeFileSync(
  "src/gen/v1.ts",
  `/** The messages of the contract, as they are generated. */\n\n${lines.join("")}`,
);
