import type { InspectedRequest } from './managed-rules.ts'

// biome-ignore lint/suspicious/noExplicitAny: each kind of statement has other members.
type Statement = any

/** The capacity units of the managed rule groups, which AWS publishes in the list of its rule groups. */
const managedCapacity: Record<string, number> = {
  AWSManagedRulesAmazonIpReputationList: 25,
  AWSManagedRulesKnownBadInputsRuleSet: 200,
  AWSManagedRulesCommonRuleSet: 700,
}
const matchCapacity: Record<string, number> = { EXACTLY: 2, STARTS_WITH: 2, ENDS_WITH: 2, CONTAINS: 10 }

/**
 * Returns the capacity units of a statement as the AWS WAF Developer Guide counts them.
 * @throws Error for a statement that it does not know
 */
export function capacityOf(statement: Statement): number {
  const [[kind, content] = ['', undefined]] = Object.entries<Statement>(statement)
  const written = (content?.TextTransformations ?? []).filter(({ Type }: Statement) => Type !== 'NONE')
  const sum = (parts: Statement[]) => parts.reduce((total, part) => total + capacityOf(part), 0)
  switch (kind) {
    case 'ManagedRuleGroupStatement':
      return known(managedCapacity[content.Name], content.Name)
    case 'RateBasedStatement':
      return 2 + 30 * (content.CustomKeys?.length ?? 0) + sum(within(content.ScopeDownStatement))
    case 'ByteMatchStatement':
      return known(matchCapacity[content.PositionalConstraint], kind) + 10 * written.length
    case 'IPSetReferenceStatement':
      return 1
    case 'RegexMatchStatement':
      return 3 + 10 * written.length
    case 'SizeConstraintStatement':
      return 1 + 10 * written.length
    case 'NotStatement':
      return sum(within(content.Statement))
    case 'AndStatement':
    case 'OrStatement':
      return sum(content.Statements)
    default:
      throw new Error(`unknown statement ${kind}`)
  }
}

/** Returns whether a condition of the web ACL is true for a request. */
export function matches(statement: Statement, request: InspectedRequest): boolean {
  const [[kind, content] = ['', undefined]] = Object.entries<Statement>(statement)
  switch (kind) {
    case 'RegexMatchStatement':
      return new RegExp(content.RegexString).test(decodeURIComponent(request.path))
    case 'SizeConstraintStatement':
      // A statement about a part that the request lacks is false.
      return (partOf(content.FieldToMatch, request) ?? '').length > content.Size
    case 'NotStatement':
      return !matches(content.Statement, request)
    case 'AndStatement':
      return content.Statements.every((one: Statement) => matches(one, request))
    case 'OrStatement':
      return content.Statements.some((one: Statement) => matches(one, request))
    default:
      throw new Error(`unknown statement ${kind}`)
  }
}

function partOf({ SingleHeader, Cookies }: Statement, { headers }: InspectedRequest): string | undefined {
  if (SingleHeader) return headers[SingleHeader.Name]
  const [name] = Cookies.MatchPattern.IncludedCookies
  const pairs = (headers.cookie ?? '').split(';').map((pair) => pair.trim())
  return pairs.find((pair) => pair.startsWith(`${name}=`))?.slice(name.length + 1)
}

function within(statement: Statement | undefined): Statement[] {
  return statement ? [statement] : []
}

function known(capacity: number | undefined, name: string): number {
  if (capacity === undefined) throw new Error(`unknown capacity of ${name}`)
  return capacity
}
