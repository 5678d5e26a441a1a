import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { CloudFormationClient } from '@aws-sdk/client-cloudformation'
import { LambdaClient } from '@aws-sdk/client-lambda'
import { PutSecretValueCommand, SecretsManagerClient } from '@aws-sdk/client-secrets-manager'
import { GetQueueAttributesCommand, SQSClient } from '@aws-sdk/client-sqs'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { loadSettings } from '#bin/build/settings-file.ts'
import { provisionedIn } from '#bin/commands/freeze/provisioned-concurrency.ts'
import { functionNamesOf, stackResources } from '#bin/commands/stack/stack-resources.ts'
import { sendEvent } from '#bin/commands/webhooks/webhook.ts'
import { localAwsEnvironment } from '#bin/local/environment.ts'
import { directoryOf } from '#bin/local/local-service.ts'
import { sentMails } from '#bin/local/mail.ts'
import { compileCache } from '#test/support/compile-cache.ts'
import { player, procedureIn } from '#test/support/procedures.ts'
import { withoutStandIns } from '#test/support/stand-ins.ts'
import { type SubscriberEndpoint, startSubscriberEndpoint } from '#test/support/subscriber-endpoint.ts'
import { listen } from './bus-listener.ts'
import { type Deployment, deploy, type HttpAnswer } from './deployment.ts'
import { recordedActions } from './recorded-actions.ts'
import { missingTimeout, subscribedOrders } from './subscribed-orders.ts'
import { until } from './until.ts'

const tenant = 'acme'
const password = 'Correct-horse-12!'
const changes = {
  // A dropped key is refused soon.
  'secrets.maxAgeSeconds': 10,
  'limits.provisionedConcurrency': { 'orders.create': 2 },
  // A failed delivery has had its last attempt soon, unless its endpoint asks for a pause.
  'deliveries.schedule': { retriesAfterSeconds: [1], jitter: 0, maxRetryAfterSeconds: 900 },
}

let service: Deployment
let listener: Awaited<ReturnType<typeof listen>>
let folder: string
/** What stands for the names and the capitals of the page at this place. */
const placeholders: Record<string, string> = { 'commerce-prod': 'commerce-local' }

beforeAll(async () => {
  service = await deploy({ id: 'first', changes })
  listener = await listen(service)
  folder = await mkdtemp(join(tmpdir(), 'commerce-operations-'))
  placeholders['profiles/prod.json'] = service.settings
}, 1_800_000)
afterAll(async () => {
  await listener?.close()
  await service?.stop()
  if (folder) await rm(folder, { recursive: true, force: true })
})

/** Returns a procedure of a page, to be played command by command. */
async function procedure(heading: string, page = 'docs/operations.md') {
  const commands = withoutStandIns(heading, (await procedureIn(page, heading)).flat())
  const values: Record<string, string> = {}
  const url = `--url ${service.base_url}`
  const { play } = player({
    env: {
      ...localAwsEnvironment(service.aws),
      ...compileCache,
      // npx sets NODE_OPTIONS to this option.
      npm_config_node_options: `--import ${pathToFileURL(join(import.meta.dirname, 'record-actions.ts')).href}`,
      RECORD_ACTIONS: service.recordedActions,
    },
    values,
    placeholders,
    options: {
      'npx commerce freeze': url,
      'npx commerce webhook send': url,
    },
  })
  return {
    values,
    /** The commands that were not played yet. */
    left: commands,
    /** Plays the next command, which starts so, with the assignments before it. @returns what it prints */
    async next(start: string): Promise<string> {
      const end = commands.findIndex((one) => !/^[A-Z_]+=/.test(one))
      if (!commands[end]?.startsWith(start))
        throw new Error(`the next command of the page is ${commands[end]}, not ${start}`)
      return play(commands.splice(0, end + 1))
    },
  }
}

const is = (status: number) => (one: number) => one === status
const isAnswered = (status: number) => (answer: HttpAnswer) => answer.status === status

const order = () => service.placeOrder(tenant)

/** A busy machine may answer with a timeout first. */
const placed = () => until(order, isAnswered(201))

const lines = (printed: string) =>
  printed
    .trim()
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line))

describe('preflight', () => {
  const deployed = () => join(directoryOf(Number(new URL(service.aws.endpoint).port)), 'cdk.out')
  async function check(assembly: string): Promise<string> {
    placeholders['cdk.out/prod'] = assembly
    const deployment = await procedure('5. First deployment', 'docs/deployment.md')
    // A synthesis takes a quarter of a minute: the stack of this run is synthesized already.
    deployment.left.shift()
    return deployment.next('npx commerce preflight')
  }

  test('refuses the release that is deployed', async () => {
    await expect(check(deployed())).rejects.toThrow(
      'commerce-local must not be deployed:\n  the release first was deployed already',
    )
  })

  test('accepts another release of the deployed stack', async () => {
    const assembly = join(folder, 'cdk.out')
    await cp(deployed(), assembly, { recursive: true })
    // Preflight compares the outputs and the table.
    const file = join(assembly, 'commerce-local.template.json')
    const template = JSON.parse(await readFile(file, 'utf8'))
    expect(template.Outputs.Release.Value).toBe('first')
    template.Outputs.Release.Value = 'second'
    await writeFile(file, JSON.stringify(template))
    expect(lines(await check(assembly))).toEqual([{ stack: 'commerce-local', may_be_deployed: true }])
  })
})

describe('dead letters', () => {
  let page: Awaited<ReturnType<typeof procedure>>
  const listed = () => service.run('dead-letters', 'list', 'webhooks')
  beforeAll(async () => {
    page = await procedure('Dead letters')
  })

  test('are listed and shown with the event', async () => {
    const unknown = '01a1fd42-cae3-848a-b36e-b4be13e97000'
    const about = ['order.paid', '--id', unknown, '--tenant', tenant, '--url', service.base_url]
    await service.run('webhook', 'send', ...about, '--event-id', 'unknown-1')
    await until(listed, ({ length }) => length === 1)
    const [letter] = lines(await page.next('npx commerce dead-letters list'))
    expect(letter).toMatchObject({ type: 'order.paid', attempts: 2 })
    placeholders.MESSAGE_ID = letter.message_id
    expect(await page.next('npx commerce dead-letters list')).toContain(unknown)
  })

  test('are handled again, and discarded if they can never succeed', async () => {
    // One, then all.
    for (const _ of [1, 2]) {
      const redriven = lines(await page.next('npx commerce dead-letters redrive webhooks'))
      expect(redriven).toMatchObject([{ messages: 1 }])
      await until(listed, ({ length }) => length === 1)
    }
    const [again] = await until(listed, ({ length }) => length === 1)
    placeholders.MESSAGE_ID = String(again?.message_id)
    await page.next('npx commerce dead-letters discard')
    expect(await listed()).toEqual([])
  })

  test('of the stream are published again, and so is a time of which no dead letter is left', async () => {
    expect(lines(await page.next('npx commerce dead-letters redrive events.relay --stack'))).toMatchObject([
      { messages: 0, left: 0 },
    ])
    const from = new Date(Date.now() - 1000).toISOString()
    const { id } = (await placed()).json
    const published = () => listener.received.filter(({ data }) => data.id === id).map((one) => one.event_id)
    await listener.until(() => new Set(published()).size === 2)
    const events = [...new Set(published())]
    const times = (event: string) => published().filter((one) => one === event).length
    const before = events.map(times)
    Object.assign(page.values, { FROM: from, TO: new Date().toISOString() })
    await page.next('npx commerce dead-letters redrive events.relay --from')
    const areAgain = () => events.every((event, n) => times(event) > (before[n] ?? 0))
    await listener.until(areAgain)
    expect(areAgain()).toBe(true)
    expect(new Set(published())).toEqual(new Set(events))
  })

  test('have no further command', () => expect(page.left).toEqual([]))
})

describe('a rotation of the key that signs webhooks', () => {
  let page: Awaited<ReturnType<typeof procedure>>
  let key: string
  beforeAll(async () => {
    page = await procedure('Rotate the key that signs webhooks')
    placeholders['webhooks.key'] = join(folder, 'webhooks.key')
  })
  const statusWith = async (secret: string) => {
    const event = {
      event_id: crypto.randomUUID(),
      type: 'cart.updated',
      occurred_at: new Date().toISOString(),
      data: { id: 'cart-1', tenant_id: tenant, amount_minor: 100, currency: 'EUR' },
    }
    const settings = await loadSettings(service.settings)
    return (await sendEvent(event, { baseUrl: service.base_url, secret, settings })).status
  }
  test('prints the new key, and both are accepted', async () => {
    await page.next('npx commerce webhook secret --generate --keep')
    key = (await readFile(join(folder, 'webhooks.key'), 'utf8')).trim()
    await until(() => statusWith(key), is(202))
    await until(() => statusWith(service.webhook_secret), is(202))
  })

  test('ends with the new key only', async () => {
    await page.next('npx commerce webhook secret --drop-old')
    await until(() => statusWith(service.webhook_secret), is(401))
    await until(() => statusWith(key), is(202))
  })

  test('of a leaked key drops it at once', async () => {
    await page.next('npx commerce webhook secret --generate --yes')
    const next = (await readFile(join(folder, 'webhooks.key'), 'utf8')).trim()
    await until(() => statusWith(key), is(401))
    await until(() => statusWith(next), is(202))
  })

  test('has no further command', () => expect(page.left).toEqual([]))
})

describe('a rotation of an API key, and the end of a session', () => {
  let page: Awaited<ReturnType<typeof procedure>>
  let old: string
  let next: string
  beforeAll(async () => {
    page = await procedure('Rotate an API key, end a session')
    placeholders['api.key'] = join(folder, 'api.key')
  })
  const statusWith = async (key: string) =>
    (await service.send('/v1/orders', { as: null, headers: { 'X-Api-Key': key } })).status

  test('prints the new key, and both are valid', async () => {
    const [made] = await service.run(
      'api-keys',
      'create',
      '--tenant',
      tenant,
      '--name',
      'shop',
      '--scope',
      'orders:read',
    )
    old = String(made?.key)
    const [listed] = lines(await page.next('npx commerce api-keys list'))
    expect(listed).toMatchObject({ name: 'shop', state: 'active' })
    placeholders.KEY_ID = listed.key_id
    await page.next('npx commerce api-keys rotate')
    next = JSON.parse(await readFile(join(folder, 'api.key'), 'utf8')).key
    await until(() => statusWith(old), is(200))
    await until(() => statusWith(next), is(200))
  })

  test('ends the old key', async () => {
    await page.next('npx commerce api-keys revoke')
    await until(() => statusWith(old), is(401))
    await until(() => statusWith(next), is(200))
  })

  test('ends a session', async () => {
    const email = 'jane@example.com'
    const post = (path: string, body: unknown, headers = {}) =>
      service.send(path, {
        method: 'POST',
        as: null,
        body,
        headers: { 'Idempotency-Key': crypto.randomUUID(), ...headers },
      })
    const key = { 'Idempotency-Key': crypto.randomUUID() }
    await until(() => post('/otp/request', { email }, key), isAnswered(202))
    const [mail] = await until(
      () => sentMails(service.aws, email),
      ({ length }) => length === 1,
    )
    const code = /Your code is (\d{6})\./.exec(mail?.text ?? '')?.[1]
    const verified = await until(() => post('/otp/verify', { email, code }, key), isAnswered(200))
    const Cookie = verified.headers
      .getSetCookie()
      .map((one) => one.split(';')[0])
      .join('; ')
    const headers = { Cookie, 'X-CSRF-Token': /csrf_token=([\w-]+)/.exec(Cookie)?.[1] ?? '' }
    const status = async () => (await post('/discount/verify', { code: 'NOTHING' }, headers)).status
    await until(status, is(200))
    const [session] = lines(await page.next('npx commerce sessions list'))
    placeholders.SESSION_ID = session.session_id
    await page.next('npx commerce sessions revoke')
    await until(status, is(401))
  })

  test('has no further command', () => expect(page.left).toEqual([]))
})

describe('subscribers', () => {
  let page: Awaited<ReturnType<typeof procedure>>
  let endpoint: SubscriberEndpoint
  let file: string
  let id: string
  const from = new Date().toISOString()
  const registered = async () => JSON.parse(await readFile(file, 'utf8'))
  const list = (...more: string[]) =>
    service.run('deliveries', 'list', '--tenant', tenant, '--subscriber', id, ...more)
  /** The events of orders that verify with a secret. */
  const received = (secret: string) => endpoint.verified(secret).filter(({ type }) => type === 'order.placed')

  beforeAll(async () => {
    endpoint = await startSubscriberEndpoint()
    file = join(folder, 'subscriber.txt')
    Object.assign(placeholders, { 'subscriber.txt': file, 'https://shop.acme.example': endpoint.url })
    page = await procedure('Subscribers')
  })
  afterAll(() => endpoint?.stop())

  test('are registered and tested', async () => {
    await page.next('npx commerce subscribers create')
    id = (await registered()).id
    placeholders.SUBSCRIBER_ID = id
    expect(lines(await page.next('npx commerce subscribers list'))).toMatchObject([{ id, state: 'active' }])
    expect(lines(await page.next('npx commerce subscribers test'))).toMatchObject([{ accepted: true }])
    expect(endpoint.verified((await registered()).secret)).toMatchObject([{ type: 'ping' }])
  })

  test('that fail are listed with their attempts, paused and moved', async () => {
    endpoint.status = 500
    await placed()
    await until(
      () => list('--status', 'failed'),
      ({ length }) => length > 0,
    )
    const [failed] = lines(await page.next('npx commerce deliveries list'))
    expect(failed).toMatchObject({ state: 'failed', attempts: [{ status: 500 }, { status: 500 }] })
    placeholders.DELIVERY_ID = failed.id
    await page.next('npx commerce subscribers pause')
    expect(lines(await page.next('npx commerce subscribers update'))).toMatchObject([
      { url: `${endpoint.url}/hooks/v2` },
    ])
  })

  test('get what was suspended, and what had failed, after they are resumed', async () => {
    const { secret } = await registered()
    const { json: suspended } = await placed()
    await until(list, (all) => all.some(({ state }) => state === 'suspended'))
    endpoint.status = 200
    await page.next('npx commerce subscribers test')
    await page.next('npx commerce subscribers resume')
    await until(
      async () => received(secret),
      (all) => all.some(({ data }) => data.id === suspended.id),
    )
    Object.assign(page.values, { FROM: from, TO: new Date().toISOString() })
    await page.next('npx commerce deliveries resend')
    const resent = await until(list, (all) =>
      all.every(({ state }) => state === 'succeeded' || state === 'failed'),
    )
    expect(resent.find((one) => one.id === placeholders.DELIVERY_ID)).toMatchObject({ state: 'succeeded' })
    const before = endpoint.verified(secret).length
    const [replay] = lines(await page.next('npx commerce events replay'))
    expect(replay.resent).toBeGreaterThanOrEqual(2)
    await until(
      async () => endpoint.verified(secret).length,
      (count) => count >= before + replay.resent,
    )
  })

  test('sign with both secrets after a rotation, and with the new one alone at once', async () => {
    const { secret: first } = await registered()
    await page.next('npx commerce subscribers rotate-secret')
    const { secret: second } = await registered()
    const { json: overlapping } = await placed()
    const has = (order: string) => (events: { data: Record<string, unknown> }[]) =>
      events.some(({ data }) => data.id === order)
    for (const secret of [first, second]) await until(async () => received(secret), has(overlapping.id))
    await page.next('npx commerce subscribers rotate-secret')
    const { secret: third } = await registered()
    const { json: alone } = await placed()
    await until(async () => received(third), has(alone.id))
    expect(received(second).map(({ data }) => data.id)).not.toContain(alone.id)
  })

  test('keep their secrets after a rotation of the key that seals them', async () => {
    const rotation = await procedure('Rotate a key of the service')
    const secrets = new SecretsManagerClient(service.aws)
    const stored = await stackResources('commerce-local', new CloudFormationClient(service.aws))
    const SecretId = stored.find(({ logicalId }) => logicalId.startsWith('SubscribersSecret'))?.physicalId
    await secrets.send(new PutSecretValueCommand({ SecretId, SecretString: 'n'.repeat(64) }))
    await until(
      async () => (await service.run('subscribers', 're-encrypt'))[0]?.re_encrypted,
      (count) => count === 1,
    )
    rotation.values.SECRET = String(SecretId)
    expect(lines(await rotation.next('npx commerce subscribers re-encrypt'))).toMatchObject([
      { re_encrypted: 0, unreadable: [] },
    ])
    const { secret } = await registered()
    const before = endpoint.verified(secret).length
    await service.run('subscribers', 'test', id, '--tenant', tenant)
    expect(endpoint.verified(secret).length).toBe(before + 1)
    expect(rotation.left).toEqual([])
  })

  test('are deleted', async () => {
    await page.next('npx commerce subscribers delete')
    expect(await service.run('subscribers', 'list', '--tenant', tenant)).toEqual([])
    expect(page.left).toEqual([])
  })
})

test('refunds without a difference are compared, and an outcome is sent', async () => {
  const pay = () =>
    service.send('/v1/refunds', {
      method: 'POST',
      as: { tenant },
      headers: { 'Idempotency-Key': 'refund' },
      body: { charge_id: 'ch_plain', amount: 700 },
    })
  const { json: refund } = await until(pay, isAnswered(201))
  const page = await procedure('Compare refunds with the payment provider')
  Object.assign(placeholders, {
    '--tenant T ': `--tenant ${tenant} `,
    REFUND_ID: refund.id,
    'occurred-at TIME': `occurred-at ${new Date().toISOString()}`,
  })
  await page.next('npx commerce refunds reconcile')
  expect(lines(await page.next('npx commerce webhook send refund.succeeded'))).toMatchObject([
    { status: 202 },
  ])
  expect(page.left).toEqual([])
})

test('a legal hold is set, listed and released', async () => {
  const page = await procedure('Legal hold')
  placeholders['order/ID'] = `order/${(await placed()).json.id}`
  await page.next('npx commerce holds set')
  expect(await page.next('npx commerce holds list')).toContain(placeholders['order/ID'])
  await page.next('npx commerce holds lift')
  expect(await service.run('holds', 'list', '--tenant', tenant)).toEqual([])
  expect(page.left).toEqual([])
})

test('the first Admin is created, and logs in', async () => {
  const page = await procedure('8. First Admin', 'docs/deployment.md')
  placeholders['read -rs PASSWORD'] = `PASSWORD='${password}'`
  await page.next('read -rs PASSWORD')
  const body = { email: 'admin@acme.cloud', password }
  await until(() => service.send('/login', { method: 'POST', as: null, body }), isAnswered(200))
  expect(page.left).toEqual([])
})

describe('a freeze', () => {
  let page: Awaited<ReturnType<typeof procedure>>
  let subscribed: Awaited<ReturnType<typeof subscribedOrders>>
  /** The order whose delivery waits for its next attempt when the freeze begins. */
  let interrupted: string
  beforeAll(async () => {
    page = await procedure('Freeze')
    subscribed = await subscribedOrders(service, 'subscribed')
    interrupted = await subscribed.interrupt()
    subscribed.endpoint.status = 200
  })
  afterAll(() => subscribed?.endpoint.stop())

  /** Returns the provisioned concurrency of the function that creates orders. */
  async function provisioned(): Promise<number | undefined> {
    const resources = await stackResources('commerce-local', new CloudFormationClient(service.aws))
    const FunctionName = functionNamesOf(resources)('orders.create')
    return provisionedIn(FunctionName, new LambdaClient(service.aws))
  }

  /** Returns the number of messages of a queue that a function would receive. */
  async function receivableIn(queue: string): Promise<number> {
    const query = { QueueUrl: service.outputs[`${queue}QueueUrl`] }
    const asked = new GetQueueAttributesCommand({ ...query, AttributeNames: ['ApproximateNumberOfMessages'] })
    return Number((await new SQSClient(service.aws).send(asked)).Attributes?.ApproximateNumberOfMessages)
  }

  test('stops writes, lets reads go on, and removes provisioned concurrency', async () => {
    expect(await provisioned()).toBe(2)
    const frozen = subscribed.placeDuring(page.next('npx commerce freeze --writes'))
    expect(lines(await frozen)).toMatchObject([{ frozen: 'writes' }])
    const { status, headers } = await order()
    expect(status).toBe(503)
    expect(Number(headers.get('retry-after'))).toBeGreaterThan(0)
    await until(() => service.send('/v1/orders', { as: { tenant } }), isAnswered(200))
    expect(await provisioned()).toBeUndefined()
  })

  test('publishes what was committed, and calls no subscriber', async () => {
    const before = subscribed.endpoint.requests
    const published = await receivableIn('PublishedEvents')
    await subscribed.store()
    await until(
      () => receivableIn('PublishedEvents'),
      (count) => count > published,
    )
    // A busy machine may have been frozen only after the next attempt.
    const isDue = async () =>
      subscribed.idsOf(interrupted).length > 1 || (await receivableIn('Deliveries')) > 0
    await until(isDue, Boolean)
    expect(subscribed.endpoint.requests).toBe(before)
  })

  test('ends, and restores provisioned concurrency', async () => {
    await page.next('npx commerce unfreeze')
    await placed()
    expect(await provisioned()).toBe(2)
  })

  test(
    'loses no delivery: what waited, was suspended or was published meanwhile is sent',
    async () => {
      await subscribed.place()
      await subscribed.resume()
      expect(await subscribed.missing()).toEqual([])
    },
    missingTimeout,
  )

  test('leaves deliveries signed', () => expect(subscribed.unsigned()).toBe(0))

  test('leaves the webhook-id of a delivery that was repeated', () => {
    expect(new Set(subscribed.idsOf(interrupted)).size).toBe(1)
  })

  test('leaves no delivery among the dead letters', async () => {
    expect(await subscribed.deadLetters()).toEqual([])
  })

  test('has no further command', () => expect(page.left).toEqual([]))
})

/** After all refunds of the tenant: on the local run, it has an account without it. */
test('an account is connected, listed and disconnected', async () => {
  const page = await procedure('Connect the account of a tenant')
  await page.next('npx commerce tenants connect')
  const listed = lines(await page.next('npx commerce tenants list'))
  expect(listed).toMatchObject([{ tenant, blocked: false, state: 'connected' }])
  await page.next('npx commerce tenants disconnect')
  expect(page.left).toEqual([])
})

/** The last one: processes know the end of a block after up to 30 seconds, and ignore events of the tenant until then. */
test('a tenant is blocked, listed and unblocked', async () => {
  const page = await procedure('Erasure')
  await page.next('npx commerce tenants block acme')
  await until(order, isAnswered(403))
  expect(lines(await page.next('npx commerce tenants list'))).toMatchObject([{ tenant, blocked: true }])
  await page.next('npx commerce tenants unblock acme')
  await placed()
  expect(page.left).toEqual([])
})

describe('permissions of the commands above', () => {
  recordedActions(
    () => service,
    [
      ...['dead-letters list', 'dead-letters discard'],
      ...['freeze', 'unfreeze', 'preflight'],
      ...['holds set', 'holds list', 'holds lift'],
      ...['tenants block', 'tenants unblock', 'tenants list'],
      ...['tenants connect', 'tenants disconnect'],
      ...['subscribers list', 'subscribers update', 'subscribers rotate-secret', 'subscribers re-encrypt'],
      ...['api-keys list', 'api-keys rotate', 'api-keys revoke', 'sessions list', 'sessions revoke'],
      'webhook secret',
    ],
  )
})
