/** Files that the page gives. */

const NAME = /[^\p{L}\p{N}._-]+/gu;

/** Have the browser keep a file. */
export function save(name: string, type: string, content: BlobPart): void {
  const address = URL.createObjectURL(new Blob([content], { type }));
  const link = document.createElement("a");
  link.href = address;
  link.download = name.replace(NAME, "-").slice(-120);
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}
