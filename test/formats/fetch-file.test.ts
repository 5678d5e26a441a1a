import { once } from 'node:events'
import { request as httpRequest, type RequestListener } from 'node:http'
import { afterAll, afterEach, describe, expect, jest, test } from '@jest/globals'
import {
  type FetchRequest,
  fetchFile,
  HostFailure,
  internet,
  type Network,
} from '#shared/platform/formats/fetch-file.ts'
import { isPublicAddress } from '#shared/platform/formats/public-address.ts'
import { startHttpServer } from '#test/support/http-server.ts'

const pages: Record<string, RequestListener> = {
  '/file.csv': (_, answer) => answer.end('email\na@example.com\n'),
  '/large': (_, answer) => {
    const piece = 'x'.repeat(10_000)
    const send = () => {
      if (answer.destroyed) return
      answer.write(piece)
      setImmediate(send)
    }
    send()
  },
  '/announced': (_, answer) => answer.writeHead(200, { 'Content-Length': '999999' }).end(),
  '/cut': (_, answer) => {
    answer.writeHead(200, { 'Content-Length': '100' })
    answer.write('email\n')
    setTimeout(() => answer.destroy(), 20)
  },
  '/packed': (_, answer) => answer.writeHead(200, { 'Content-Encoding': 'gzip' }).end('x'),
  '/gone': (_, answer) => answer.writeHead(404).end(),
  '/silent': () => {},
  '/byte-by-byte': (_, answer) => {
    const timer = setInterval(() => answer.write('x'), 40)
    answer.on('close', () => clearInterval(timer))
  },
  '/head-byte-by-byte': ({ socket }) => {
    socket.write('HTTP/1.1 200 OK\r\nX-Slow: ')
    const timer = setInterval(() => socket.write('x'), 100)
    socket.on('close', () => clearInterval(timer))
  },
  '/huge-head': (_, answer) => answer.writeHead(200, { 'X-Huge': 'x'.repeat(64 * 1024) }).end(),
  '/in-pieces': (_, answer) => {
    for (let piece = 1; piece <= 3; piece += 1)
      setTimeout(() => (piece < 3 ? answer.write('x'.repeat(100)) : answer.end()), 100 * piece)
  },
}
const reached: string[] = []
const { port, server, stop } = await startHttpServer((asked, answer) => {
  const { pathname, searchParams } = new URL(asked.url ?? '', 'http://x')
  reached.push(`${asked.headers.host}${pathname}`)
  const to = searchParams.get('to')
  if (pathname === '/to') answer.writeHead(302, { Location: to ?? '' }).end()
  else if (pathname === '/count') {
    const left = Number(to)
    const next = left > 0 ? `/count?to=${left - 1}` : '/file.csv'
    answer.writeHead(307, { Location: next }).end()
  } else (pages[pathname] ?? pages['/gone'])?.(asked, answer)
})
afterAll(stop)

/** The deployed network, except that a server on this machine counts as public and is reached over plain HTTP. */
function network(names: Record<string, string[] | (() => string[])> = {}): Network {
  return {
    async resolve(name) {
      const known = names[name] ?? (name === 'files.example' ? ['127.0.0.1'] : undefined)
      if (!known) throw new Error('ENOTFOUND')
      return typeof known === 'function' ? known() : known
    },
    mayReach: (address) => address === '127.0.0.1' || isPublicAddress(address),
    request: (url, options) =>
      httpRequest({ ...options, host: url.hostname, port, path: url.pathname + url.search }),
  }
}

const enough = () => AbortSignal.timeout(20_000)
const requestOf = (url: string, changes: Partial<FetchRequest> = {}): FetchRequest => ({
  url,
  field: 'file_url',
  maxBytes: 50_000,
  tooLarge: 'VALIDATION.body.too_large',
  limits: { minBytesPerSecond: 1000, graceSeconds: 2 },
  deadline: enough(),
  signal: enough(),
  ...changes,
})

async function get(
  path: string,
  names?: Parameters<typeof network>[0],
  changes?: Partial<FetchRequest>,
  between: () => Promise<void> = async () => {},
) {
  const request = requestOf(path.startsWith('/') ? `https://files.example${path}` : path, changes)
  let text = ''
  for await (const bytes of fetchFile(request, network(names))) {
    text += Buffer.from(bytes).toString()
    await between()
  }
  return text
}
const impatient = { limits: { minBytesPerSecond: 1000, graceSeconds: 0.25 } }
const tooSlow = (limit: string) => ({ code: 'DEPENDENCY.timeout', details: { reason: 'too_slow', limit } })
const redirect = (to: string) => `/to?to=${encodeURIComponent(to)}`
const privateRange = { code: 'VALIDATION.url.private_range' }

describe('downloading a file', () => {
  test('connects to the address that was checked', async () => {
    expect(await get('/file.csv')).toBe('email\na@example.com\n')
  })

  test('is aborted if the file is larger than permitted, with or without Content-Length', async () => {
    const details = { fields: { file_url: expect.objectContaining({ reason: 'too_large', max: 50_000 }) } }
    const tooLarge = { code: 'VALIDATION.body.too_large', http: 413, details }
    await expect(get('/large')).rejects.toMatchObject(tooLarge)
    await expect(get('/announced')).rejects.toMatchObject(tooLarge)
  })

  test.each([
    ['is truncated', '/cut', 'interrupted'],
    ['is compressed', '/packed', 'encoded'],
    ['does not exist', '/gone', 'status_404'],
    ['has an unknown host', 'https://unknown.example/', 'name'],
  ])('fails for a file that %s', async (_, path, reason) => {
    await expect(get(path)).rejects.toMatchObject({
      code: 'DEPENDENCY.bad_gateway',
      details: { reason },
    })
  })

  test('fails for a response head of more than 16 KB', async () => {
    await expect(get('/huge-head')).rejects.toMatchObject({ details: { reason: 'connection' } })
  })
})

describe('a host is too slow', () => {
  afterEach(() => {
    jest.useRealTimers()
    jest.restoreAllMocks()
  })

  test('if it sends one byte at a time', async () => {
    const failure = await get('/byte-by-byte', {}, impatient).catch((thrown: unknown) => thrown)
    expect(failure).toMatchObject(tooSlow('rate'))
    expect(failure).toBeInstanceOf(HostFailure)
  })

  test('if it sends its head one byte at a time', async () => {
    jest.useFakeTimers({ doNotFake: ['nextTick', 'setImmediate', 'queueMicrotask', 'performance'] })
    const arrived = once(server, 'request')
    const failed = expect(get('/head-byte-by-byte')).rejects.toMatchObject(tooSlow('head'))
    await arrived
    jest.advanceTimersByTime(10_000)
    await failed
  })

  test('if it sends nothing until the deadline', async () => {
    const changes = { deadline: AbortSignal.timeout(200) }
    await expect(get('/silent', {}, changes)).rejects.toMatchObject(tooSlow('deadline'))
  })

  test('if it sends quickly but endlessly until the deadline', async () => {
    const changes = { deadline: AbortSignal.timeout(200), maxBytes: Number.MAX_SAFE_INTEGER }
    await expect(get('/large', {}, changes)).rejects.toMatchObject(tooSlow('deadline'))
  })

  test.each([
    ['the deadline', 'deadline', { code: 'DEPENDENCY.timeout', details: { limit: 'deadline' } }],
    ['the budget of the service', 'signal', { code: 'DEPENDENCY.timeout', details: undefined }],
  ] as const)('does not look up a name beyond %s', async (_, signal, failure) => {
    const aborted = new AbortController()
    const resolve: Network['resolve'] = (_, given) =>
      new Promise((_, reject) => {
        given?.addEventListener('abort', () => reject(new Error('canceled')))
        aborted.abort()
      })
    const request = requestOf('https://files.example/', { [signal]: aborted.signal })
    const fetched = fetchFile(request, { ...network(), resolve }).next()
    await expect(fetched).rejects.toMatchObject(failure)
  })

  test('is not reported for a pause shorter than the grace period', async () => {
    const limits = { minBytesPerSecond: 1, graceSeconds: 15 }
    expect(await get('/in-pieces', {}, { limits })).toHaveLength(200)
  })

  test('is not reported if the service stores the bytes slowly', async () => {
    const now = performance.now.bind(performance)
    let stored = 0
    jest.spyOn(performance, 'now').mockImplementation(() => now() + stored)
    const slowly = async () => {
      stored += 60_000
    }
    expect(await get('/file.csv', {}, {}, slowly)).toContain('email')
  })

  test('is not reported if the budget of the service ends', async () => {
    const failed = get('/silent', {}, { signal: AbortSignal.timeout(200) })
    await expect(failed).rejects.not.toBeInstanceOf(HostFailure)
  })
})

describe('a private address is never connected', () => {
  test('for a name that resolves to one, even next to a public one', async () => {
    for (const addresses of [
      ['10.0.0.1'],
      ['127.0.0.1', '169.254.169.254'],
      ['fd00:ec2::254'],
      ['::ffff:10.0.0.1'],
    ]) {
      const before = reached.length
      await expect(get('https://inner.example/', { 'inner.example': addresses })).rejects.toMatchObject(
        privateRange,
      )
      expect(reached.length).toBe(before)
    }
  })

  test.each([
    'https://127.0.0.2/',
    'https://2130706434/',
    'https://[::1]/',
    'https://[::ffff:169.254.169.254]/',
    'https://inner.example/',
    'https://localhost/',
  ])('for a redirect to %s', async (to) => {
    const names = { 'inner.example': ['192.168.0.1'] }
    await expect(get(redirect(to), names)).rejects.toMatchObject(privateRange)
    await expect(get(redirect(`https://files.example${redirect(to)}`), names)).rejects.toMatchObject(
      privateRange,
    )
  })

  test('for a name that resolves to another address after the check', async () => {
    let asked = 0
    const names = { 'rebinding.example': () => [asked++ === 0 ? '127.0.0.1' : '10.0.0.1'] }
    expect(await get('https://rebinding.example/file.csv', names)).toContain('email')
    expect(asked).toBe(1)
    expect(reached.at(-1)).toBe(`rebinding.example:${port}/file.csv`)
  })

  test('by the deployed network, which permits only public addresses', async () => {
    expect(internet.mayReach('127.0.0.1')).toBe(false)
    const request = requestOf(`https://localhost:${port}/`)
    await expect(fetchFile(request, internet).next()).rejects.toMatchObject(privateRange)
  })
})

describe('redirects', () => {
  test('are followed up to the limit, relative ones too', async () => {
    expect(await get('/count?to=4')).toContain('email')
    await expect(get('/count?to=5')).rejects.toMatchObject({ details: { reason: 'redirects' } })
  })

  test.each(['http://files.example/file.csv', 'ftp://files.example/', 'https://user:pw@files.example/'])(
    'to %s are rejected',
    async (to) => {
      await expect(get(redirect(to))).rejects.toMatchObject({ code: 'VALIDATION.field.format' })
    },
  )
})
