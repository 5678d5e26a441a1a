import type { DynamoDBRecord } from 'aws-lambda'
import { eventCarriers } from '#functions/events.ts'
import { enqueueTasks } from '#functions/platform/enqueue-tasks/handler.ts'
import { endpoint as createRefund } from '#functions/refunds/create-refund/endpoint.ts'
import { functionOf, type RouteEntry, routes } from '#functions/routes.ts'
import { endImport } from '#shared/imports/end-import.ts'
import { type ImportStep, importSteps } from '#shared/imports/import.ts'
import { importRows } from '#shared/imports/import-rows.ts'
import { prepareImport } from '#shared/imports/prepare-import.ts'
import { smallestChunk } from '#shared/imports/split-file.ts'
import { startImport } from '#shared/imports/start-import.ts'
import type { IdentityProvider } from '#shared/login/identity-provider.ts'
import { sendReset } from '#shared/login/password-reset.ts'
import { signIn } from '#shared/login/sign-in.ts'
import { endAbandoned } from '#shared/operations/end-abandoned.ts'
import { handleMailEvent } from '#shared/otp/mail-event.ts'
import { sendCode } from '#shared/otp/send-code.ts'
import { retryDelaySeconds } from '#shared/platform/aws/queue-function.ts'
import type { Mail } from '#shared/platform/aws/ses.ts'
import type { QueueMessage } from '#shared/platform/aws/sqs.ts'
import { type Budget, newId, startBudget } from '#shared/platform/base/clock.ts'
import { describeFault, Failure, fail } from '#shared/platform/base/failure.ts'
import type { HttpResponse } from '#shared/platform/base/http.ts'
import type { Log } from '#shared/platform/base/log.ts'
import {
  type PublishedEvent,
  publishedEvents,
  type TaskQueue,
  taskQueues,
} from '#shared/platform/events/outbox.ts'
import { relay } from '#shared/platform/events/relay.ts'
import type { FileStore } from '#shared/platform/formats/file-store.ts'
import type { Caller } from '#shared/platform/identity/caller.ts'
import { type TokenVerifier, tokenVerifier } from '#shared/platform/identity/token.ts'
import type { Workflow } from '#shared/platform/jobs/workflow.ts'
import { openWork, type Runtime, type WorkContext } from '#shared/platform/request/context.ts'
import type { Endpoint } from '#shared/platform/request/endpoint.ts'
import {
  finishSagas,
  runLimitMilliseconds as sagaMilliseconds,
} from '#shared/platform/request/finish-sagas.ts'
import { handleRequest, openRequest } from '#shared/platform/request/handle-request.ts'
import { gatewayPathOf } from '#shared/platform/request/route.ts'
import { ownerOf, pendingWork } from '#shared/platform/table/keys.ts'
import type { Criticality } from '#shared/platform/table/table.ts'
import { checkRefunds } from '#shared/refunds/check-refunds.ts'
import type { PaymentProvider } from '#shared/refunds/payment-provider.ts'
import { refundSaga } from '#shared/refunds/refund-saga.ts'
import type { Settings } from '#shared/settings/register.ts'
import { handleEvent } from '#shared/webhooks/handle-event.ts'
import { importStates, stepOf } from '#test/imports/import-states.ts'
import { runMachine, Stopped } from '#test/imports/run-machine.ts'
import { collectedTable } from '#test/support/declared-table.ts'
import { memoryFiles } from '#test/support/memory-files.ts'
import { endpointOf } from '#test/support/service.ts'
import { longTokenSettings } from '#test/support/settings.ts'
import { webhookSecret } from '#test/support/signed-events.ts'
import { stripeSecret } from '#test/support/stripe-events.ts'
import { testKeys } from '#test/support/test-keys.ts'
import { MemoryStore, type StreamRecord } from './memory-store.ts'
import { memoryTable } from './memory-table.ts'
import { type Faults, Process } from './process.ts'
import { SimulatedProvider } from './provider.ts'
import type { Random } from './random.ts'
import type { Scheduler } from './scheduler.ts'
import { transitOf } from './transit.ts'

/** A request as the gateway receives it. */
interface HttpCall {
  method: string
  path: string
  headers: Record<string, string>
  body: Uint8Array | undefined
  sourceAddress: string
}

/** A change of the table, with its time in milliseconds since 1970. */
interface TimedRecord extends StreamRecord {
  at: number
}

/** A message that a queue has given up. */
interface DeadLetter {
  queue: TaskQueue
  body: string
}

/** The right password of every user of the identity provider. */
export const password = 'Correct-horse-1'

const invocationMilliseconds = 60_000
const gatewayMilliseconds = 29_000
const workMilliseconds = 10_000
const sweepMilliseconds = 60_000
const onceMilliseconds = 30_000
const recordsAtOnce = 10

// An import of few rows has several chunks.
smallestChunk.rows = 2
const states = importStates()
const pendingEntities = new Set<string>(pendingWork)
/** No deployment changes the settings of tokens. */
const verifier = tokenVerifier(longTokenSettings)
const gateways = new Map<Settings, GatewayRoute[]>()

interface GatewayRoute {
  method: string
  pattern: RegExp
  endpoints: Endpoint[]
}

/** The endpoints of the service. Those that open a provider by themselves get the simulated one in `World`. */
const deployed = await Promise.all(routes.map(endpointOf))

/** The whole service: its processes, and in-memory doubles of everything that they call. */
export class World {
  readonly scheduler: Scheduler
  readonly random: Random
  readonly faults: Faults
  readonly store: MemoryStore
  /** Settings of the release that was deployed last. */
  settings: Settings
  /** Those of the release before, while processes of both start. */
  #before: Settings | undefined
  /** All clients use one tenant and one cart. */
  isCrowded = false
  /** All changes of the table that it has not lost. */
  records: TimedRecord[] = []
  /** The changes that it has lost, when it went back to an earlier time. */
  lost: TimedRecord[] = []
  /** All events on the bus of changes that are not lost, also those that were published twice. */
  published: PublishedEvent[] = []
  readonly deadLetters: DeadLetter[] = []
  /** The queues and the steps of imports that handle nothing. */
  readonly stopped = new Set<TaskQueue | ImportStep>()
  /** The messages and inputs that they have received. */
  readonly waiting: { receiver: TaskQueue | ImportStep; body: string }[] = []
  /** Events and tasks that the functions of the stream refused or set aside, in words. */
  readonly unpublished: string[] = []
  /** Sent mails. */
  readonly mails: (Mail & { messageId: string })[] = []
  /** The recipients of mails for password resets. */
  readonly resets: string[] = []
  readonly provider: SimulatedProvider
  /** Log lines, as JSON. */
  readonly logged: string[] = []
  /** The names of the table's calls and changes, by function, if they are collected. */
  readonly accesses: Map<string, Set<string>> | undefined
  /** The files of imports and exports. */
  readonly files = memoryFiles()
  readonly #skews: number[]
  readonly #shards: { records: StreamRecord[]; consumers: (() => void)[] }[]
  readonly #workflows = new Map<string, 'running' | 'ended'>()
  readonly #endpoints: Endpoint[]
  readonly #running = new Set<Process>()
  #busy = 0
  #spawned = 0

  constructor(options: {
    scheduler: Scheduler
    random: Random
    faults: Faults
    settings: Settings
    accesses: Map<string, Set<string>> | undefined
  }) {
    const { scheduler, random, faults, settings, accesses } = options
    this.accesses = accesses
    this.scheduler = scheduler
    this.random = random
    this.faults = faults
    this.settings = settings
    const skewed = random.chance(0.5)
    this.#skews = [0, 1, 2].map(() => (skewed ? random.int(4001) - 2000 : 0))
    this.#shards = Array.from({ length: 1 + random.int(3) }, (_, at) => {
      const records: StreamRecord[] = []
      const consumers = [
        this.#consume(`relay-${at}`, records, (batch, process) => this.#relay(batch, process)),
        this.#consume(`enqueue-${at}`, records, (batch, process) => this.#enqueue(batch, process)),
      ]
      return { records, consumers }
    })
    const maxLag = random.pick([0, 0, 50, 2000])
    this.store = new MemoryStore({
      now: () => scheduler.now,
      indexLag: () => random.next() * maxLag,
      onRecord: (record) => this.#stream(record),
    })
    this.provider = new SimulatedProvider(scheduler, random.fork('provider'))
    this.#endpoints = deployed.map((endpoint) => this.#withProviders(endpoint))
  }

  /** @param before the release from which processes still start, if there is one */
  deploy(settings: Settings, before?: Settings): void {
    this.settings = settings
    this.#before = before
  }

  /** Starts the sweepers. */
  start(): void {
    const sweepers = {
      'finish-sagas': async (runtime: Runtime) => {
        const until = runtime.clock.now() + sagaMilliseconds
        const endpoint = this.#endpoints.find((one) => one.route === createRefund.route) as Endpoint
        await finishSagas([endpoint], runtime)
        await checkRefunds(runtime, async (context) => this.#paymentProvider(processOf(context)), until)
      },
      'end-abandoned': (runtime: Runtime, process: Process) => {
        const { clock } = runtime
        const table = runtime.openTable(startBudget(clock, workMilliseconds))
        return endAbandoned(this.#workflow(process), { table, clock })
      },
    }
    for (const [name, sweep] of Object.entries(sweepers)) {
      const again = () => {
        const process = this.#spawn(name)
        void this.#run<unknown>(process, () => sweep(this.#runtime(process), process)).catch(() => undefined)
        this.scheduler.after(sweepMilliseconds, again)
      }
      this.scheduler.after(this.random.next() * sweepMilliseconds, again)
    }
  }

  /** Returns what the service has still to do; empty once nothing is pending. */
  pending(): string[] {
    const left = this.store
      .all()
      .filter(({ pk, status }) => {
        const { kind: entity } = ownerOf(pk)
        return pendingEntities.has(entity) || (status === 'pending' && entity === 'refund')
      })
      .map(({ pk, sk }) => `${pk} ${sk}`)
    if (this.provider.upcoming > 0) left.push('events of the provider')
    if (this.#busy > 0) left.push(`${this.#busy} consumers at work`)
    return left
  }

  /** Sends a request through the gateway. Rejects if the connection breaks; a 502 or 504 is the gateway's own. */
  async request(name: string, call: HttpCall): Promise<HttpResponse> {
    const [path = '', search] = call.path.split('?')
    const { endpoints, params, runs } = this.#match(call.method, path)
    const process = this.#spawn(name, runs)
    const request = { ...call, path, params, query: [...new URLSearchParams(search)] }
    const bare = (status: number): HttpResponse => ({ status, headers: {}, body: undefined })
    const opened = openRequest(endpoints, request, this.#runtime(process))
    const handled = this.#run(process, () => handleRequest(opened))
    const late = this.scheduler.sleep(gatewayMilliseconds).then(() => bare(504))
    return Promise.race([handled.catch(() => bare(502)), late])
  }

  /** Adds a message to a queue, which delivers it at least once, in any order. */
  enqueue(queue: TaskQueue, body: string): void {
    if (this.stopped.has(queue)) return void this.waiting.push({ receiver: queue, body })
    const times = this.faults.active && this.random.chance(0.1) ? 2 : 1
    for (let time = 0; time < times; time += 1) {
      const isLate = this.faults.active && this.random.chance(0.1)
      this.#busy += 1
      this.#deliver({ queue, body, attempt: 1 }, this.random.next() * (isLate ? 90_000 : 200))
    }
  }

  /**
   * The table goes back to an earlier time. No process outlives a restore, not even a frozen one. API keys are carried over as they stand. Tasks whose
   * work is lost are queued again.
   */
  goBack(to: number): void {
    for (const process of this.#running) process.crash()
    const isLost = ({ at, before, after }: TimedRecord) =>
      at > to && ownerOf((after ?? before)?.pk ?? '').kind !== 'api_key'
    this.lost = this.records.filter(isLost)
    this.records = this.records.filter((record) => !isLost(record))
    this.store.takeBack(this.lost)
    const kept = new Set(
      this.records
        .flatMap(({ after }) => (after ? publishedEvents(after) : []))
        .map(({ event_id }) => event_id),
    )
    this.published = this.published.filter(({ event_id }) => kept.has(event_id))
    for (const { task } of this.store.all() as { task?: { queue: TaskQueue; body: string } }[])
      if (task) this.enqueue(task.queue, task.body)
  }

  /** An operator returns the messages that a queue has given up. */
  redrive(queue: TaskQueue, isFit: (body: string) => boolean): void {
    const letters = this.deadLetters.splice(0)
    for (const letter of letters) {
      if (letter.queue === queue && isFit(letter.body)) this.enqueue(queue, letter.body)
      else this.deadLetters.push(letter)
    }
  }

  #deliver(message: { queue: TaskQueue; body: string; attempt: number }, delay: number): void {
    const { queue, body, attempt } = message
    this.scheduler.after(delay, async () => {
      const process = this.#spawn(queue)
      const runtime = this.#runtime(process)
      const correlation = { id: newId(process.clock), trace: {} }
      const context = openWork(runtime, { operation: queue, correlation, milliseconds: workMilliseconds })
      try {
        await this.#invocation(this.#run(process, () => this.#work(queue, body, context, process)))
        this.#busy -= 1
      } catch {
        const { attempts } = taskQueues[queue]
        if (attempt < attempts(process.settings)) {
          const seconds = retryDelaySeconds(attempt + 1, process.clock)
          this.#deliver({ queue, body, attempt: attempt + 1 }, seconds * 1000)
        } else {
          this.scheduler.note(queue, `gives up ${body}`)
          this.deadLetters.push({ queue, body })
          this.#busy -= 1
        }
      }
    })
  }

  #work(queue: TaskQueue, body: string, context: WorkContext, process: Process): Promise<unknown> {
    switch (queue) {
      case 'webhooks':
        return handleEvent(body, context)
      case 'mail':
        return sendCode(body, context, (id, mail) => this.#sendOnce(id, mail, process))
      case 'mail_events':
        return handleMailEvent(body, context)
      case 'password_resets':
        return sendReset(body, this.#identityProvider(process), context)
      case 'imports':
        return startImport(body, this.#workflow(process))
      case 'reconciliations':
        throw new Error('no schedule compares the ledger')
      case 'published_events':
      case 'deliveries':
        throw new Error('no bus feeds the queues of subscribers')
    }
  }

  #spawn(name: string, runs = name): Process {
    this.#spawned += 1
    const { scheduler, random, faults } = this
    const skew = this.#skews[this.#spawned % this.#skews.length] ?? 0
    // The name does not depend on what other processes do, so that a schedule can be shrunk.
    const own = this.#namesakes(name)
    const isOld = this.#before && random.fork(`release of ${name}.${own}`).chance(0.5)
    const settings = (isOld && this.#before) || this.settings
    const process = new Process(`${name}.${own}`, { runs, scheduler, random, faults, settings, skew })
    processes.set(process.clock, process)
    return process
  }

  readonly #names = new Map<string, number>()
  #namesakes(name: string): number {
    const count = (this.#names.get(name) ?? 0) + 1
    this.#names.set(name, count)
    return count
  }

  /** Runs work in a process. Rejects when the process dies. */
  #run<T>(process: Process, work: () => Promise<T>): Promise<T> {
    this.#running.add(process)
    const run = new Promise<T>((resolve, reject) => {
      process.onCrash = () => reject(new Error('the process died'))
      work().then(resolve, reject)
    })
    return run.finally(() => this.#running.delete(process))
  }

  /** Rejects if work takes longer than an invocation of a function. The work goes on. */
  #invocation<T>(work: Promise<T>): Promise<T> {
    const late = this.scheduler.sleep(invocationMilliseconds).then(() => {
      throw new Error('the invocation took too long')
    })
    return Promise.race([work, late])
  }

  #runtime(process: Process): Runtime {
    const { settings, clock } = process
    return {
      settings,
      clock,
      log: this.#log(),
      tokens: { verify: (...credentials) => process.native(verifyOnce(...credentials)) },
      openTable: (budget, criticality = 'critical') => this.#table(process, budget, criticality),
      openFiles: (budget) => this.#fileStore(process, budget),
      secret: async (name) =>
        ({ webhooks: webhookSecret, stripe_webhooks: stripeSecret, payments: 'sk_test_1', probe: 'none' })[
          name
        ],
      isBlocked: async () => false,
      // Each process serves one request.
      remember: (_, load) => load(),
      ...testKeys,
      environment: (name) => (name === 'DEPLOYMENT' ? 'commerce-simulated' : undefined),
    }
  }

  #table(process: Process, budget: Budget, criticality: Criticality = 'critical') {
    const access = { clock: process.clock, budget, criticality }
    const opened = memoryTable(this.store, access, transitOf(process, budget))
    return collectedTable(opened, process.runs, this.accesses)
  }

  #fileStore(process: Process, budget: Budget): FileStore {
    const files = this.files
    const reach = async (name: string) => {
      await available(
        process.call({ name, effect: () => undefined, timeoutMilliseconds: budget.remaining() }),
      )
    }
    return {
      async write(key, chunks, mediaType) {
        await reach('write-file')
        await files.write(key, chunks, mediaType)
      },
      async *read(key, range) {
        await reach('read-file')
        yield* files.read(key, range)
      },
      link: files.link,
    }
  }

  #withProviders(endpoint: Endpoint): Endpoint {
    const { operation } = endpoint.route
    if (endpoint.saga && operation === 'refunds.create') {
      return {
        ...endpoint,
        saga: (context) => refundSaga(context, async () => this.#paymentProvider(processOf(context))),
      } as Endpoint
    }
    if (operation === 'login.sign-in') {
      return {
        route: endpoint.route,
        decide: ({ body }, context) =>
          signIn(body as never, this.#identityProvider(processOf(context)), context),
      }
    }
    return endpoint
  }

  #paymentProvider(process: Process): PaymentProvider {
    const reach = <T>(name: string, effect: () => T, budget: Budget) =>
      available(process.call({ name, effect, timeoutMilliseconds: budget.remaining() }))
    return {
      refund: (request, budget) => reach('pay', () => this.provider.refund(request), budget),
      adopt: (id, request, budget) => reach('adopt-payout', () => this.provider.adopt(id, request), budget),
      find: (request, budget) => reach('find-payout', () => this.provider.find(request), budget),
    }
  }

  #identityProvider(process: Process): IdentityProvider {
    const reach = <T>(name: string, effect: () => T) =>
      available(process.call({ name, effect, timeoutMilliseconds: 3000 }))
    return {
      signIn: ({ password: given }) =>
        reach('sign-in', () => {
          if (given !== password) return { rejection: fail('AUTH.invalid_credentials') }
          const payload = Buffer.from(JSON.stringify({ tenant: 'tenant-a' })).toString('base64url')
          const tokens = { access_token: `x.${payload}.x`, token_type: 'Bearer', expires_in: 3600 }
          return { tokens: { ...tokens, refresh_token: 'refresh-secret' } }
        }),
      sendReset: (email) => reach('send-reset', () => void this.resets.push(email)),
    }
  }

  /** Sends a mail once for each message, as the guard of the deployed function does, with a record and a lease. */
  async #sendOnce(messageId: string, mail: Mail, process: Process): Promise<void> {
    const key = { pk: 'once#mail', sk: messageId }
    const budget = startBudget(process.clock, workMilliseconds)
    const table = this.#table(process, budget)
    const now = process.clock.now()
    const known = await table.get(key)
    if (known?.state === 'done') return
    if (known && Number(known.until) > now) throw new Error('the mail is being sent')
    const lease = { ...key, state: 'sending', until: now + onceMilliseconds }
    const condition = known ? { matches: { until: Number(known.until) } } : { absent: true as const }
    if (await table.put({ item: lease, condition })) throw new Error('the mail is being sent')
    await process.call({
      name: 'send-mail',
      effect: () => {
        this.mails.push({ ...mail, messageId })
        this.enqueue('mail_events', JSON.stringify({ type: 'Delivery', message_id: [messageId] }))
      },
      timeoutMilliseconds: 5000,
    })
    await table.put({ item: { ...lease, state: 'done' }, condition: 'none' })
  }

  #workflow(process: Process): Workflow {
    const call = <T>(name: string, effect: () => T) =>
      process.call({ name, effect, timeoutMilliseconds: 3000 })
    return {
      start: (name, input) =>
        call('start-workflow', () => {
          if (!this.#workflows.has(name)) this.#startWorkflow(name, input)
        }),
      stateOf: (name) => call('describe-workflow', () => this.#workflows.get(name) ?? 'absent'),
    }
  }

  /** Runs the state machine of an import. Sometimes it is stopped from outside, and nothing ends its operation. */
  #startWorkflow(name: string, input: Record<string, string>): void {
    this.#workflows.set(name, 'running')
    this.#busy += 1
    const stopsAfter = this.faults.active && this.random.chance(0.1) ? this.random.int(4) : -1
    let steps = 0
    const run = runMachine(states, input, {
      invoke: async (resource, sent) => {
        if (steps === stopsAfter) throw new Stopped()
        steps += 1
        try {
          return await this.#step(stepOf(resource), JSON.parse(JSON.stringify(sent)))
        } catch (thrown) {
          await this.scheduler.sleep(1000)
          throw thrown
        }
      },
      waited: () => this.scheduler.sleep(5000),
    })
    run
      .catch(() => undefined)
      .then(() => {
        this.#workflows.set(name, 'ended')
        this.#busy -= 1
      })
  }

  #step(step: ImportStep, input: unknown): Promise<unknown> {
    if (this.stopped.has(step)) {
      this.waiting.push({ receiver: step, body: JSON.stringify(input) })
      return new Promise(() => {})
    }
    const process = this.#spawn(`import-${step}`)
    const correlation = { id: step, trace: {} }
    const milliseconds = importSteps[step].seconds * 1000
    const context = openWork(this.#runtime(process), { operation: 'imports', correlation, milliseconds })
    const work = { prepare: prepareImport, rows: importRows, end: endImport }
    const run = work[step] as (sent: unknown, using: typeof context) => Promise<unknown>
    // What crosses to a function and back is JSON.
    const inJson = (value: unknown) => (value === undefined ? undefined : JSON.parse(JSON.stringify(value)))
    return this.#invocation(this.#run(process, async () => inJson(await run(input, context))))
  }

  #stream(record: StreamRecord): void {
    this.records.push({ ...record, at: this.scheduler.now })
    const { pk = '' } = record.after ?? record.before ?? {}
    // All changes of an item are in one shard.
    const sum = [...pk].reduce((total, one) => total + one.charCodeAt(0), 0)
    const shard = this.#shards[sum % this.#shards.length]
    shard?.records.push(record)
    for (const wake of shard?.consumers ?? []) wake()
  }

  /** Delivers the records of a shard in order, at least once. */
  #consume(
    name: string,
    shard: readonly StreamRecord[],
    work: (records: readonly StreamRecord[], process: Process) => Promise<string | undefined>,
  ): () => void {
    let position = 0
    let awake = false
    const deliver = async () => {
      const records = shard.slice(position, position + 1 + this.random.int(recordsAtOnce))
      const process = this.#spawn(name)
      try {
        const failed = await this.#invocation(this.#run(process, () => work(records, process)))
        const done = records.findIndex(({ sequence }) => String(sequence) === failed)
        position += done < 0 ? records.length : done
      } catch {
        // The batch is delivered again.
      }
      awake = false
      this.#busy -= 1
      wake()
    }
    const wake = () => {
      if (awake || position === shard.length) return
      awake = true
      this.#busy += 1
      this.scheduler.after(this.random.next() * 400, deliver)
    }
    return wake
  }

  /** Functions of one release publish every event and queue every task. */
  #setAside = async (_: string, reason: string): Promise<void> => {
    this.unpublished.push(reason)
  }

  async #relay(records: readonly StreamRecord[], process: Process): Promise<string | undefined> {
    const changes = records.map(({ sequence, before, after }) => {
      return { sequenceNumber: String(sequence), before, after }
    })
    const publish = (events: readonly PublishedEvent[], count: number) => {
      this.published.push(...events.slice(0, count))
      return events.map((_, index) => index >= count)
    }
    const { failedFrom, refused } = await relay(changes, {
      carriers: eventCarriers,
      publish: (events) =>
        process.call({
          name: 'publish',
          effect: () => publish(events, events.length),
          partial: () => publish(events, events.length - 1),
          timeoutMilliseconds: 3000,
        }),
      setAside: this.#setAside,
    })
    if (refused.length > 0) this.unpublished.push(...refused.map(({ type, kind }) => `${type} on ${kind}`))
    return failedFrom
  }

  #enqueue(records: readonly StreamRecord[], process: Process): Promise<string | undefined> {
    const send = (queue: TaskQueue, messages: readonly QueueMessage[], count: number) => {
      for (const { body } of messages.slice(0, count)) this.enqueue(queue, body)
      return messages.map((_, index) => index >= count)
    }
    return enqueueTasks(
      records.map(eventRecordOf),
      { log: this.#log(), setAside: this.#setAside },
      (queue, messages) =>
        process.call({
          name: `send-${queue}`,
          effect: () => send(queue, messages, messages.length),
          partial: () => send(queue, messages, messages.length - 1),
          timeoutMilliseconds: 3000,
        }),
    )
  }

  #log(): Log {
    const write = ({ failure, fault, ...line }: { failure?: Failure | undefined; fault?: unknown }) =>
      void this.logged.push(JSON.stringify({ ...line, code: failure?.code, fault: describeFault(fault) }))
    return {
      request: ({ correlation, ...line }) => write({ ...line, ...{ correlation_id: correlation.id } }),
      report: ({ correlation, ...line }) => write({ ...line, ...{ correlation_id: correlation.id } }),
      relay: write,
      job: write,
      alert: (code, { id }, about) => {
        if (code === 'CARRIER_REFUSED') this.unpublished.push(JSON.stringify(about))
        write({ ...({ code, correlation_id: id } as object) })
      },
      event: ({ correlation, ...line }) => write({ ...line, ...{ correlation_id: correlation.id } }),
      pending: () => {},
      reconciled: () => {},
      probed: () => {},
    }
  }

  /** Matches as the gateway does, by method and path. */
  #match(method: string, path: string) {
    const known = gateways.get(this.settings) ?? gatewayOf(deployed, this.settings)
    gateways.set(this.settings, known)
    for (const route of known) {
      const found = route.method === method ? route.pattern.exec(path) : null
      if (!found) continue
      const params = Object.entries(found.groups ?? {}).map(([name, value]) => [
        name,
        decodeURIComponent(value),
      ])
      const endpoints = route.endpoints.map((one) => this.#endpoints[deployed.indexOf(one)] as Endpoint)
      const [first] = route.endpoints as [Endpoint]
      const { name: runs } = functionOf(routes[deployed.indexOf(first)] as RouteEntry)
      return { endpoints, params: Object.fromEntries(params) as Record<string, string>, runs }
    }
    throw new Error(`no route for ${method} ${path}`)
  }
}

/** The callers of verified tokens. No token expires within a schedule, so each is verified once for all of them. */
const callers = new Map<string, Promise<Caller>>()

function verifyOnce(...credentials: Parameters<TokenVerifier['verify']>) {
  const [authorization = ''] = credentials
  const caller = callers.get(authorization) ?? verifier.verify(...credentials)
  if (authorization !== '') callers.set(authorization, caller)
  return caller
}

function gatewayOf(endpoints: readonly Endpoint[], settings: Settings): GatewayRoute[] {
  const byPath = Map.groupBy(endpoints, ({ route }) => `${route.method} ${gatewayPathOf(route, settings)}`)
  return [...byPath].map(([name, sharing]) => {
    const [method = '', path = ''] = name.split(' ')
    const pattern = new RegExp(`^${path.replace(/\{([a-z_]+)\}/g, '(?<$1>[^/]+)')}$`)
    return { method, pattern, endpoints: sharing }
  })
}

/** The processes of work contexts, by their clocks. */
const processes = new WeakMap<object, Process>()

function processOf({ clock }: Pick<WorkContext, 'clock'>): Process {
  const process = processes.get(clock)
  if (!process) throw new Error('a context without a process')
  return process
}

/** Turns the faults of a call into the failures that adapters throw. */
async function available<T>(call: Promise<T>): Promise<T> {
  try {
    return await call
  } catch (cause) {
    if (cause instanceof Failure) throw cause
    const timedOut = /Timeout|Abort/.test((cause as Error).name)
    throw fail(timedOut ? 'DEPENDENCY.timeout' : 'DEPENDENCY.unavailable', { cause })
  }
}

/** Converts a record to the parts of a function's event that carry tasks. */
function eventRecordOf({ sequence, before, after }: StreamRecord): DynamoDBRecord {
  const task = after?.task as { queue: string; body: string; group: string } | undefined
  return {
    eventName: before ? (after ? 'MODIFY' : 'REMOVE') : 'INSERT',
    dynamodb: {
      SequenceNumber: String(sequence),
      ...(task && {
        NewImage: {
          pk: { S: String(after?.pk) },
          task: { M: { queue: { S: task.queue }, body: { S: task.body }, group: { S: task.group } } },
        },
      }),
    },
  }
}
