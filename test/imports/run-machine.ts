/** Runs a state machine in this process, strictly by its definition. */

// biome-ignore lint/suspicious/noExplicitAny: states and their data have any shape
type Any = any

export interface MachineWorld {
  /** Executes a Task, identified by its Resource. */
  invoke(resource: string, input: Any): Promise<unknown>
  /** Called for a Wait, which then ends at once. */
  waited?(): Promise<void>
}

/** The result of a run. A state that fails without a Catch fails the run. */
export type Run = { status: 'succeeded'; output: Any } | { status: 'failed'; error: string }

/** @throws `Stopped` if the world throws it; other errors are failures of their states */
export async function runMachine(definition: Any, input: Any, world: MachineWorld): Promise<Run> {
  try {
    return { status: 'succeeded', output: await runStates(definition, input, {}, world) }
  } catch (thrown) {
    if (thrown instanceof Stopped) throw thrown
    return { status: 'failed', error: (thrown as Error).message }
  }
}

/** The machine was stopped from outside, and nothing of it continues. */
export class Stopped extends Error {}

async function runStates(machine: Any, input: Any, context: Any, world: MachineWorld): Promise<Any> {
  let data = input
  for (let name: string | undefined = machine.StartAt; name !== undefined; ) {
    const state: Any = machine.States[name]
    if (!state) throw new Error(`no state ${name}`)
    const next: { data: Any; name: string | undefined } = await runState(state, data, context, world)
    data = next.data
    name = next.name
  }
  return data
}

async function runState(state: Any, input: Any, context: Any, world: MachineWorld) {
  switch (state.Type) {
    case 'Succeed':
      return { data: state.OutputPath === null ? {} : input, name: undefined }
    case 'Wait':
      await world.waited?.()
      return { data: input, name: state.Next }
    case 'Choice': {
      const chosen = state.Choices.find((rule: Any) => valueAt(rule.Variable, input) === rule.StringEquals)
      return { data: input, name: chosen?.Next ?? state.Default }
    }
    case 'Task':
      return withRetry(state, input, () => world.invoke(state.Resource, input))
    case 'Map':
      return withRetry(state, input, () => runMap(state, input, context, world))
    default:
      throw new Error(`a state of type ${state.Type}`)
  }
}

async function runMap(state: Any, input: Any, context: Any, world: MachineWorld): Promise<unknown[]> {
  if (state.ItemProcessor.ProcessorConfig.Mode !== 'DISTRIBUTED') throw new Error('a distributed map')
  const items: Any[] = valueAt(state.ItemsPath, input)
  const waiting = items.map((item, index) => ({ item, index }))
  const results: unknown[] = []
  let broken: unknown
  async function next(): Promise<void> {
    for (let one = waiting.shift(); one && broken === undefined; one = waiting.shift()) {
      const own = { ...context, Map: { Item: { Index: one.index, Value: one.item } } }
      try {
        results[one.index] = await runStates(
          state.ItemProcessor,
          template(state.ItemSelector, input, own),
          own,
          world,
        )
      } catch (thrown) {
        broken ??= thrown
      }
    }
  }
  await Promise.all(Array.from({ length: Math.min(state.MaxConcurrency, 4) }, next))
  if (broken !== undefined) throw broken
  return results
}

async function withRetry(state: Any, input: Any, attempt: () => Promise<unknown>) {
  for (let again = 0; ; again += 1) {
    try {
      const output = placed(state.ResultPath, input, limited(await attempt()))
      return { data: state.OutputPath === null ? {} : output, name: state.Next }
    } catch (thrown) {
      if (thrown instanceof Stopped) throw thrown
      if (again < attemptsAfter(thrown as Error, state)) continue
      const [caught] = state.Catch ?? []
      if (!caught) throw thrown
      const fault = { Error: (thrown as Error).name, Cause: (thrown as Error).message }
      return { data: placed(caught.ResultPath, input, fault), name: caught.Next }
    }
  }
}

/** Returns how often a state is tried again after an error. */
function attemptsAfter({ name }: Error, state: Any): number {
  const retries: Any[] = state.Retry ?? []
  return (
    retries.find(({ ErrorEquals }) => ErrorEquals.includes(name) || ErrorEquals.includes('States.ALL'))
      ?.MaxAttempts ?? 0
  )
}

/** Returns the result of a state, which has a size limit. */
function limited(result: unknown): unknown {
  if ((JSON.stringify(result) ?? '').length > 256 * 1024) throw new Error('States.DataLimitExceeded')
  return result
}

function placed(path: string | null | undefined, input: Any, result: unknown): Any {
  if (path === null) return input
  if (path === undefined || path === '$') return result
  const [, name = ''] = /^\$\.(\w+)$/.exec(path) ?? []
  if (name === '') throw new Error(`the path ${path}`)
  return { ...input, [name]: result }
}

function template(given: Any, input: Any, context: Any): Any {
  const members = Object.entries(given).map(([name, value]) => {
    if (!name.endsWith('.$')) return [name, value]
    const path = String(value)
    const from = path.startsWith('$$') ? valueAt(path.slice(1), context) : valueAt(path, input)
    return [name.slice(0, -2), from]
  })
  return Object.fromEntries(members)
}

function valueAt(path: string, data: Any): Any {
  const [, ...names] = path.split('.')
  return names.reduce((value, name) => value?.[name], data)
}
