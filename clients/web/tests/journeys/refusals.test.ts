import { test } from "node:test";
import { accessible, choose, explain, file, go, open } from "./browser";

test("a file that is no model is refused with what is wrong", async () => {
  const page = await open();
  await choose(page, file("broken.onnx"), file("fruit.csv"));
  const message = page.getByRole("alert").filter({ hasText: "The model was not taken" });
  await message.getByText("INVALID_MODEL").waitFor();
  await accessible(page);
  await page.close();
});

test("a table that lacks what the model takes is told by its columns", async () => {
  const page = await open();
  await choose(page, file("fruit.onnx"), file("other.csv"));
  await page.getByText("The model cannot be fed from this table").waitFor();
  await page.getByText("Missing:").waitFor();
  await accessible(page);
  await page.close();
});

test("without a target nothing is compared with one", async () => {
  const page = await open();
  await choose(page, file("fruit.onnx"), file("fruit.csv"));
  await explain(page);
  await go(page, "Average loss");
  await page.getByText("choose a target first").waitFor();
  await accessible(page);
  await page.close();
});

test("a model in two files is refused without its values, and taken with them", async () => {
  const page = await open();
  const field = page.getByLabel("File of the model");
  await field.setInputFiles(file("net.onnx"));
  await page.getByText(/keeps its values in another file, 'net.data'/).waitFor();
  await field.setInputFiles([file("net.data"), file("net.onnx")]);
  await page.getByText("scent").first().waitFor();
  await accessible(page);
  await page.close();
});
