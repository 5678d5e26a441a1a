import { execFile } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from '@jest/globals'
import { referenceSite } from '#bin/describe/reference/site.ts'
import { serveHttp } from '#test/support/http-service.ts'
import { startService } from '#test/support/service.ts'
import { webhookSecret } from '#test/support/signed-events.ts'
import { codeOf, walkthroughOf } from '#test/support/walkthrough.ts'

test('the service accepts what the sample of the served guide sends', async () => {
  const service = await startService()
  const { base_url, stop } = await serveHttp(service)
  const folder = await mkdtemp(join(tmpdir(), 'webhook-sample-'))
  try {
    const page = String((await referenceSite(service.settings)).get('guide.html'))
    const { files } = walkthroughOf(codeOf(page))
    const sample = join(folder, 'send.mjs')
    await writeFile(sample, files['send.mjs'] ?? '')
    const env = { ...process.env, BASE_URL: base_url, SECRET: webhookSecret }
    const { stdout } = await promisify(execFile)(process.execPath, [sample], { env })
    expect(stdout.trim()).toBe('202')
  } finally {
    await stop()
    await rm(folder, { recursive: true, force: true })
  }
})
