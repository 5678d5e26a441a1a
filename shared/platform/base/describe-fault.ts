import { Failure, ReportableError } from './failure.ts'

/** A fault as it is logged. */
export interface FaultDescription {
  name: string
  message?: string
  /** The innermost frames of the stack. */
  at: string[]
}

/** Returns the name, the stack and the message of a fault. A message that may quote a caller is left out. */
export function describeFault(fault: unknown): FaultDescription | undefined {
  if (fault === undefined) return undefined
  if (!(fault instanceof Error)) return { name: typeof fault, at: [] }
  const frames = (fault.stack ?? '').split('\n').filter((line) => /^\s+at /.test(line))
  const message = reportableMessage(fault)
  return {
    name: fault.name,
    ...(message !== undefined && { message }),
    at: frames.slice(0, 5).map((line) => line.trim()),
  }
}

/** Messages of the engine that contain names of the code only. */
const engineMessage =
  /^(Cannot (read|set) properties of (undefined|null) \((reading|setting) '\w{1,40}'\)|[\w.$]{1,80} is not (a function|a constructor|defined|iterable)|Invalid time value)$/

function reportableMessage(fault: Error): string | undefined {
  if (fault instanceof ReportableError) return fault.message
  if (fault instanceof Failure) return fault.code
  if (fault.name === 'ValiError') return invalidPaths(fault as Partial<ValidationError>)
  return engineMessage.test(fault.message) ? fault.message : undefined
}

/** The members of valibot's error that name fields and rules, and quote no value. */
interface ValidationError {
  issues: readonly { type: string; path?: readonly { key: unknown }[] }[]
}

/** Returns such as `amount_minor: safe_integer`. */
function invalidPaths({ issues = [] }: Partial<ValidationError>): string {
  return issues
    .map(({ type, path = [] }) => `${path.map(({ key }) => String(key)).join('.')}: ${type}`)
    .join(', ')
}
