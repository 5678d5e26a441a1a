import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:net'

/**
 * Returns a free port of loopback. It is none that the system gives to connections, which could take it before the caller
 * does.
 */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = randomInt(20_000, 32_000)
    const server = createServer()
    const free = await once(server.listen(port, '127.0.0.1'), 'listening').then(
      () => true,
      (thrown: NodeJS.ErrnoException) => {
        if (thrown.code !== 'EADDRINUSE') throw thrown
        return false
      },
    )
    if (!free) continue
    server.close()
    await once(server, 'close')
    return port
  }
}
