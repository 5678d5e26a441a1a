import { readFileSync } from 'node:fs'
import { join } from 'node:path'

/** The version of the service, of its descriptions and of the command line: that of package.json. */
export const { version } = JSON.parse(
  readFileSync(join(import.meta.dirname, '../../package.json'), 'utf8'),
) as {
  version: string
}
