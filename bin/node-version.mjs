// Every program starts here. Plain JavaScript: a Node that is too old does not parse the rest.
const required = 24
const current = Number(process.version.slice(1).split('.')[0])
if (current < required) {
  console.error(`Node ${required} or newer is required, and this is ${process.version}.
Run "npm ci": it installs Node ${required} on Linux (x64, arm64) and Windows (x64).
Elsewhere install it yourself: "npx n ${required}", "brew install node@${required}" or https://nodejs.org/en/download.`)
  process.exit(1)
}
