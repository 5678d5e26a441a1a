import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { run } from './command.ts'
import { referenceSite } from './reference/site.ts'
import { loadSettings, localProfile } from './settings-file.ts'

const usage = `usage: npm run -s reference -- --out FOLDER [--url BASE_URL] [--settings FILE]
Writes the pages for API consumers into a folder that any web server can serve. With --url they try operations there;
its profile must allow the origin of the pages.`

async function main(): Promise<void> {
  const text = { type: 'string' } as const
  const { values } = parseArgs({ options: { out: text, url: text, settings: text } })
  if (values.out === undefined) throw new Error('--out is needed')
  const settings = await loadSettings(values.settings ?? localProfile, 'local')
  const site = await referenceSite(settings, values.url === undefined ? undefined : { base_url: values.url })
  await mkdir(values.out, { recursive: true })
  for (const [file, content] of site) await writeFile(join(values.out, file), content)
  console.log(`${site.size} files in ${values.out}`)
}

if (import.meta.main) await run(usage, main)
