import { readFile, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { DynamoDBClient } from '@aws-sdk/client-dynamodb'
import { DynamoDBDocumentClient, paginateScan } from '@aws-sdk/lib-dynamodb'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { localAwsEnvironment } from '#bin/local/environment.ts'
import { type Item, isEntity, ownerOf } from '#shared/platform/table/keys.ts'
import { compileCache } from '#test/support/compile-cache.ts'
import { type CommandBlock, player, procedureIn } from '#test/support/procedures.ts'
import { listen } from './bus-listener.ts'
import { type Deployment, deploy, type HttpAnswer } from './deployment.ts'
import { missingTimeout, subscribedOrders } from './subscribed-orders.ts'

type Kind = 'write' | 'read' | 'denied'

const buying = { tenant: 'buying' }
const onlooking = { tenant: 'onlooking', role: 'Viewer' as const }
const restoredTable = 'commerce-local-restored-1'

let service: Deployment
let listener: Awaited<ReturnType<typeof listen>>
let subscribed: Awaited<ReturnType<typeof subscribedOrders>>
/** The order whose delivery waits for its next attempt as the procedure begins. */
let interrupted: string
/** What each block of the procedure printed, by the name of its first command that is not an assignment. */
const printed = new Map<string, string>()
/** The phase in which an answer began and ended; answers of two phases count for neither. */
let phase = 'before'
const answers: { kind: Kind; phase: string; answer: HttpAnswer }[] = []
const orders = new Map<string, string>()
let tables: Record<'old' | 'new', Item[]>

beforeAll(async () => {
  service = await deploy({ id: 'first' })
  listener = await listen(service)
  subscribed = await subscribedOrders(service, 'subscribed')
  await playUnderLoad()
}, 1_800_000)
afterAll(async () => {
  await listener?.close()
  await subscribed?.endpoint.stop()
  await service?.stop()
})

/** Plays the procedure of the page while customers place and read orders, and others are denied. */
async function playUnderLoad(): Promise<void> {
  const stopped = new AbortController()
  const failed = new AbortController()
  const load = [
    ...Array.from({ length: 4 }, (_, buyer) => buy(`buyer-${buyer}`, stopped.signal, failed.signal)),
    repeat('read', () => service.send('/v1/orders', { as: buying }), stopped.signal),
    repeat('denied', () => service.send(`/v1/orders/${firstOrder()}`, { as: onlooking }), stopped.signal),
  ]
  try {
    await untilOrders(20)
    await hold('set', `order/${firstOrder()}`)
    interrupted = await subscribed.interrupt()
    subscribed.endpoint.status = 200
    await subscribed.placeDuring(play())
    await untilOrders(orders.size + 20)
  } catch (thrown) {
    failed.abort()
    throw thrown
  } finally {
    stopped.abort()
    await Promise.all(load)
  }
}

async function play(): Promise<void> {
  const values: Record<string, string> = {
    STACK: 'commerce-local',
    STAGE: 'local',
    PROFILE: service.settings,
    RESTORED: restoredTable,
    RELEASE: 'restore-1',
    TENANT: buying.tenant,
  }
  const url = `--url ${service.base_url}`
  const { play: run } = player({
    env: {
      ...localAwsEnvironment(service.aws),
      ...compileCache,
      // The options of an unattended deployment, and a folder that no other run uses.
      CDK_REQUIRE_APPROVAL: 'never',
      CDK_OUTPUT: join(dirname(service.settings), 'cdk.out'),
      CDK_VALIDATION: 'false',
      CDK_DISABLE_CLI_TELEMETRY: 'true',
      CDK_DISABLE_VERSION_CHECK: '1',
    },
    values,
    options: {
      'npx commerce freeze': url,
      'npx commerce verify': url,
      // Nobody is there to confirm.
      'npx commerce refunds reconcile': '--yes',
    },
  })
  for (const block of await procedureIn('docs/operations.md', 'Restore the table to a point in time')) {
    const name = nameOf(block)
    phase = `during ${name}`
    const output = await run(block)
    printed.set(name, output)
    phase = `after ${name}`
    if (name.startsWith('freeze --writes')) {
      values.TIME = JSON.parse(output).time
      await untilAnswered('read', 200)
      await untilAnswered('denied', 404)
    }
    if (name.startsWith('table restore')) {
      await changeProfile(JSON.parse(output))
      await hold('lift', `order/${firstOrder()}`)
      await hold('set', 'tenant')
    }
    if (name.startsWith('freeze --all')) await untilAnswered('write', 503)
    if (name.startsWith('table carry-over'))
      tables = { old: await itemsOf(service.table), new: await itemsOf(restoredTable) }
  }
}

/** Returns `freeze --writes --stack …` of a block that runs it. */
function nameOf(block: CommandBlock): string {
  const command = block.find((one) => one.startsWith('npx ')) ?? ''
  return command.replace(/^npx (commerce )?/, '')
}

/** Changes the legal holds of the buyers' tenant. */
async function hold(change: 'set' | 'lift', target: string): Promise<void> {
  const options = ['--tenant', buying.tenant, '--target', target, '--reason', 'case 4711']
  await service.run('holds', change, ...options, ...(change === 'lift' ? ['--yes'] : []))
}

/** The step of the page that is done by hand. */
async function changeProfile(change: object): Promise<void> {
  const profile = JSON.parse(await readFile(service.settings, 'utf8'))
  await writeFile(service.settings, JSON.stringify({ ...profile, ...change }))
}

/** Places orders one after the other, and repeats each with its key until it is answered 201, as a client does. */
async function buy(buyer: string, stopped: AbortSignal, failed: AbortSignal): Promise<void> {
  for (let n = 0; !stopped.aborted; n += 1) {
    const key = `${buyer}-${n}`
    await repeat(
      'write',
      async () => {
        const answer = await service.send('/v1/orders', {
          method: 'POST',
          as: buying,
          headers: { 'Idempotency-Key': key },
          body: { cart_id: key, amount_minor: 100, currency: 'EUR' },
        })
        if (answer.status === 201) orders.set(key, answer.json.id)
        return answer
      },
      failed,
      () => orders.has(key),
    )
  }
}

/** Repeats a request with pauses, so that commands get their share of the machine. */
async function repeat(
  kind: Kind,
  request: () => Promise<HttpAnswer>,
  stopped: AbortSignal,
  isDone = () => false,
): Promise<void> {
  while (!stopped.aborted && !isDone()) {
    const begun = phase
    const answer = await request()
    answers.push({ kind, phase: begun === phase ? phase : 'between', answer })
    await sleep(200)
  }
}

function firstOrder(): string {
  const [id = '01900000-0000-8000-8000-000000000000'] = orders.values()
  return id
}

async function untilOrders(count: number): Promise<void> {
  while (orders.size < count) await sleep(100)
}

/** Waits until some requests of this phase were answered so. */
async function untilAnswered(kind: Kind, status: number): Promise<void> {
  while (answersIn(kind, phase).filter((answer) => answer.status === status).length < 5) await sleep(100)
}

function answersIn(kind: Kind, ...phases: string[]): HttpAnswer[] {
  return answers.filter((one) => one.kind === kind && phases.includes(one.phase)).map(({ answer }) => answer)
}

/** Returns the phase of the block whose first command starts so. */
function phaseOf(when: 'during' | 'after', command: string): string {
  return `${when} ${[...printed.keys()].find((name) => name.startsWith(command))}`
}

/** The items of entities. Others are counters and records of requests. */
async function itemsOf(TableName: string): Promise<Item[]> {
  const client = DynamoDBDocumentClient.from(new DynamoDBClient(service.aws))
  const items: Item[] = []
  for await (const { Items = [] } of paginateScan({ client }, { TableName })) items.push(...(Items as Item[]))
  return items
    .filter(({ pk }) => isEntity(ownerOf(pk).kind))
    .sort((a, b) => (a.pk + a.sk < b.pk + b.sk ? -1 : 1))
}

async function listedOrders(): Promise<string[]> {
  const ids: string[] = []
  for (let cursor: string | null = ''; cursor !== null; ) {
    const path = `/v1/orders?page_size=100${cursor && `&cursor=${cursor}`}`
    const page: HttpAnswer = await service.send(path, { as: buying })
    if (page.status !== 200) throw new Error(page.text)
    ids.push(...page.json.data.map(({ id }: { id: string }) => id))
    cursor = page.json.next_cursor
  }
  return ids
}

describe('the procedure that restores the table, played from its page under load', () => {
  // A busy machine may add timeouts, which clients repeat as well.
  test('answers no write with an error that a client does not repeat', () => {
    const statuses = answers.filter(({ kind }) => kind === 'write').map(({ answer }) => answer.status)
    expect([...new Set(statuses)].filter((status) => status !== 201 && status < 502)).toEqual([])
  })

  test('refuses every request of the freeze with Retry-After and the error of the service', () => {
    const refused = (['write', 'read', 'denied'] as const).flatMap((kind) =>
      answersIn(kind, phaseOf('after', 'freeze --all'), phaseOf('during', 'cdk diff')),
    )
    const seen = refused.map(
      ({ status, headers, json }) =>
        `${status} ${json?.error?.code} ${Number(headers.get('retry-after')) > 0}`,
    )
    expect([...new Set(seen)]).toEqual(['503 DEPENDENCY.unavailable true'])
  })

  test('refuses writes while reads go on', () => {
    const phase = phaseOf('after', 'freeze --writes')
    expect(new Set(answersIn('write', phase).map(({ status }) => status))).toEqual(new Set([503]))
    expect(answersIn('read', phase).map(({ status }) => status)).toContain(200)
  })

  test('has both tables equal at the change-over: no item is in one of them only', () => {
    expect(tables.new).toEqual(tables.old)
  })

  test('applies the legal holds as they stand, also those that changed after the point in time', async () => {
    const holds = await service.run('holds', 'list', '--tenant', buying.tenant)
    expect(holds.map(({ target }) => target)).toEqual(['tenant'])
  })

  test('keeps the record of each denial', async () => {
    const records = await service.run('audit', 'list', '--tenant', onlooking.tenant, '--limit', '100000')
    const counted = records.reduce((sum, { count = 1 }) => sum + Number(count), 0)
    const denied = answers.filter(({ kind, answer }) => kind === 'denied' && answer.status === 404)
    // A denial that was recorded may still be answered with a timeout.
    expect(counted).toBeGreaterThanOrEqual(denied.length)
  })

  test('loses no order and doubles none', async () => {
    expect((await listedOrders()).sort()).toEqual([...orders.values()].sort())
  })

  test('publishes the creation of each order', async () => {
    const heard = () =>
      new Set(listener.received.flatMap(({ type, data }) => (type === 'order.created' ? [data.id] : [])))
    const missing = () => [...orders.values()].filter((id) => !heard().has(id))
    await listener.until(() => missing().length === 0)
    expect(missing()).toEqual([])
  })

  test(
    'sends subscribers each event, also those that waited or were suspended before',
    async () => {
      await subscribed.resume()
      expect(await subscribed.missing()).toEqual([])
    },
    missingTimeout,
  )

  test('sends a waiting event with its webhook-id', () => {
    expect(new Set(subscribed.idsOf(interrupted)).size).toBe(1)
  })

  test('signs each event', () => expect(subscribed.unsigned()).toBe(0))

  test('leaves no delivery among the dead letters', async () => {
    expect(await subscribed.deadLetters()).toEqual([])
  })

  const printedBy = (command: string) => [...printed].find(([name]) => name.startsWith(command))?.[1]

  test('opens data that breaks no promise', () => {
    expect(printedBy('verify --data')).toContain('"violations":0')
  })

  test('ends with a deployment that verify accepts', () => {
    expect(printedBy('unfreeze')).toContain('{"check":"removal","passed":true}')
  })
})
