// The first import of every program. It is plain JavaScript, because a Node that is too old does not parse the rest.
import { spawn } from 'node:child_process'
import { existsSync, symlinkSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const required = 24

if (Number(process.version.slice(1).split('.')[0]) < required) {
  const system = process.platform === 'win32' ? 'win' : process.platform
  const file = process.platform === 'win32' ? 'bin/node.exe' : 'bin/node'
  const modules = fileURLToPath(new URL('../node_modules/', import.meta.url))
  const installed = `${modules}node-${system}-${process.arch}/${file}`
  if (!existsSync(installed)) {
    console.error(`Node ${required} or newer is required, and this is ${process.version}.
Run "npm ci": it installs Node ${required} on Linux (x64, arm64) and Windows (x64).
Elsewhere install it yourself: "npx n ${required}", "brew install node@${required}" or https://nodejs.org/en/download.`)
    process.exit(1)
  }
  // Older versions of npm, such as 10.8, remove the link to it, because the packages for other systems have the same.
  if (!existsSync(`${modules}.bin/node`)) symlinkSync(installed, `${modules}.bin/node`)
  const child = spawn(installed, process.argv.slice(1), { stdio: 'inherit' })
  // A terminal sends SIGINT to both.
  process.on('SIGINT', () => {})
  process.on('SIGTERM', () => child.kill('SIGTERM'))
  child.on('exit', (code) => process.exit(code ?? 1))
  await new Promise(() => {})
}
