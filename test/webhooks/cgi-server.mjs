import { spawn } from 'node:child_process'
import { createServer } from 'node:http'
import { text } from 'node:stream/consumers'

/** A web server that runs a CGI program (RFC 3875) for each request: `node cgi-server.mjs FILE`, on $PORT. Its errors are printed. */
const [, , program] = process.argv

createServer(async (request, response) => {
  const headers = Object.entries(request.headers).map(([name, value]) => [
    `HTTP_${name.toUpperCase().replaceAll('-', '_')}`,
    value,
  ])
  const env = { ...process.env, REQUEST_METHOD: request.method, ...Object.fromEntries(headers) }
  const child = spawn('sh', [program], { env, stdio: ['pipe', 'pipe', 1] })
  request.pipe(child.stdin)
  const [, status] = /^Status: (\d+)/.exec(await text(child.stdout)) ?? []
  response.writeHead(Number(status ?? 500)).end()
}).listen(Number(process.env.PORT), '127.0.0.1')
