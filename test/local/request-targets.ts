import { request } from 'node:http'

const characters = [...'/\\[]:%?#*']
const longer = (targets: string[]) => targets.flatMap((target) => characters.map((one) => target + one))
const pairs = longer(characters)

/** Every request target of one to three characters that are special in a URL. */
export const specialTargets = [...characters, ...pairs, ...longer(pairs)]

/** Returns the number of responses of a server on loopback to a GET of each target. A missing one rejects. */
export async function responsesTo(host: string, targets: string[]): Promise<number> {
  let responses = 0
  for (const path of targets) {
    const [hostname, port] = host.split(':')
    await new Promise<void>((resolve, reject) => {
      const sent = request({ hostname, port, path, headers: { host }, timeout: 300_000 }, (response) => {
        responses += 1
        response.resume().once('end', resolve)
      })
      sent
        .once('error', reject)
        .once('timeout', () => sent.destroy(new Error(`no response to ${path}`)))
        .end()
    })
  }
  return responses
}
