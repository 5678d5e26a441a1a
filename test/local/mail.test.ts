import { afterAll, expect, test } from '@jest/globals'
import type { LocalAws } from '#bin/local/environment.ts'
import { sentMails } from '#bin/local/mail.ts'
import { startHttpServer } from '#test/support/http-server.ts'

const mail = (MessageId: string, To: string[]) => ({
  ...{ MessageId, To, Subject: 'Code', BodyText: 'Your code is 123456.', Timestamp: 1_800_000_000 },
})
const messages = { '000000000000': [mail('1', ['a@b.example']), mail('2', ['c@b.example', 'A@b.example'])] }
const engine = await startHttpServer(({ headers, url }, response) => {
  const known = url === '/_ministack/ses/messages' && headers['x-local-secret'] === 'secret'
  response.writeHead(known ? 200 : 403).end(JSON.stringify({ messages }))
})
const aws: LocalAws = {
  endpoint: engine.url,
  region: 'us-east-1',
  credentials: { accessKeyId: 'key', secretAccessKey: 'secret' },
}
afterAll(() => engine.stop())

test('a mail has its time, address, subject and text', async () => {
  expect((await sentMails(aws))[0]).toEqual({
    id: '1',
    at: '2027-01-15T08:00:00.000Z',
    to: ['a@b.example'],
    subject: 'Code',
    text: 'Your code is 123456.',
  })
})

test.each([
  ['a@b.example', ['1', '2']],
  ['C@B.example', ['2']],
  ['b.example', []],
])('the mails to %s are selected', async (to, ids) => {
  expect((await sentMails(aws, to)).map(({ id }) => id)).toEqual(ids)
})
