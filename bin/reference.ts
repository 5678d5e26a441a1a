import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { command } from './command.ts'
import { referenceSite } from './reference/site.ts'
import { loadSettings } from './settings-file.ts'

const usage = `usage: npm run -s reference -- --out FOLDER [--url BASE_URL] [--settings FILE]
Writes the pages for API consumers into a folder that any web server can serve. With --url the pages can call operations
of that service, if its settings allow the origin of the pages.`

if (import.meta.main)
  await command(usage, { out: 'required', url: 'optional', settings: 'optional' }, async (values) => {
    const { out, url } = values
    const site = await referenceSite(await loadSettings(values.settings), url ? { base_url: url } : undefined)
    await mkdir(out, { recursive: true })
    for (const [file, content] of site) await writeFile(join(out, file), content)
    console.log(`${site.size} files in ${out}`)
  })
