export function Share() {
  return <h1>Share</h1>;
}
