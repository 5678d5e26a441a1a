import { join } from 'node:path'
import { expect, test } from '@jest/globals'
import { startLocalService } from '#bin/local/local-service.ts'
import { freePort } from '#test/support/free-port.ts'

/** It adopts a table. */
const profile = join(import.meta.dirname, '../support/profiles/other.json')

test('a start with a table that does not exist is refused', async () => {
  const { signal } = new AbortController()
  await expect(startLocalService({ port: await freePort(), settings: profile, signal })).rejects.toThrow(
    'storage.restoredTable names the table commerce-prod-restored, which does not exist: the local AWS starts without tables. Set it to null.',
  )
})
