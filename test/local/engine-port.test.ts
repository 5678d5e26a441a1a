import { once } from 'node:events'
import { rmSync, writeFileSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { assertPortFree } from '#bin/local/engine.ts'
import { fileOfRun, makePrivateDirectory, RUNS } from '#bin/local/environment.ts'

const holder = createServer((socket) => socket.destroy())
let port: number
beforeAll(async () => {
  holder.listen(0, '127.0.0.1')
  await once(holder, 'listening')
  port = (holder.address() as AddressInfo).port
})
afterAll(() => {
  holder.close()
  rmSync(fileOfRun(port), { force: true })
})

test('a port in use is refused with the command that takes another, and with a run of this clone that uses it', async () => {
  await expect(assertPortFree(port)).rejects.toThrow(/another program.*npm start -- --port/)
  makePrivateDirectory(RUNS)
  writeFileSync(fileOfRun(port), '{}')
  await expect(assertPortFree(port)).rejects.toThrow(/npm start of this clone.*npm start -- --port/)
})
