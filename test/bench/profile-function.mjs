// Profiles the CPU of one bundle: node profile-function.mjs <bundle> <file of events> <file of the profile> <calls to warm up>.
// Without a call to warm up, the profile starts before the bundle is loaded.
import { readFileSync, writeFileSync } from 'node:fs'
import { Session } from 'node:inspector/promises'

const [, , bundle, eventsFile, profileFile, warmUp] = process.argv
const events = JSON.parse(readFileSync(eventsFile, 'utf8'))
const session = new Session()
session.connect()
await session.post('Profiler.enable')
await session.post('Profiler.setSamplingInterval', { interval: 100 })

if (Number(warmUp) === 0) await session.post('Profiler.start')
const { handler } = await import(bundle)
for (const event of events.splice(0, Number(warmUp))) await call(event)
if (Number(warmUp) > 0) await session.post('Profiler.start')
for (const event of events) await call(event)
const { profile } = await session.post('Profiler.stop')
writeFileSync(profileFile, JSON.stringify(profile))
process.exit() // connections that are kept alive would hold the process

async function call(event) {
  const deadline = Date.now() + 30_000
  const reply = await handler(event, { getRemainingTimeInMillis: () => deadline - Date.now() })
  if (reply.statusCode > 299) throw new Error(`${bundle} answered ${reply.statusCode}: ${reply.body}`)
}
