import { Duration } from 'aws-cdk-lib'
import {
  MathExpression,
  type MathExpressionProps,
  Metric,
  type MetricOptions,
} from 'aws-cdk-lib/aws-cloudwatch'
import type { IFunction } from 'aws-cdk-lib/aws-lambda'
import { pascalCase } from '../functions/function-names.ts'

/** The period of a measure unless it has another one. */
export const period = Duration.minutes(5)

export function metric(namespace: string, metricName: string, options: MetricOptions): Metric {
  return new Metric({ namespace, metricName, period, ...options })
}

/** @throws Error for a function that the stack does not have */
export function functionNamed(functions: ReadonlyMap<string, IFunction>, name: string): IFunction {
  const found = functions.get(name)
  if (found === undefined) throw new Error(`there is no function ${name}`)
  return found
}

export function math(props: MathExpressionProps): MathExpression {
  return new MathExpression({ period, ...props })
}

export function sumOf(prefix: string, label: string, metrics: readonly Metric[]): MathExpression {
  const usingMetrics = Object.fromEntries(metrics.map((one, index) => [`${prefix}${index}`, one]))
  return math({ expression: sumText(prefix, metrics.length), usingMetrics, label })
}

/** SUM ignores metrics without data, such as those of HEAD; + would return nothing. */
export function sumText(prefix: string, length: number): string {
  return `SUM([${Array.from({ length }, (_, index) => `${prefix}${index}`).join(', ')}])`
}

/** Returns ids of metrics, which are unique in a graph and start with a lowercase letter. */
export function metricIds<const T extends readonly string[]>(
  operation: string,
  ...parts: T
): { [K in keyof T]: string } {
  const name = pascalCase(operation)
  const prefix = name.charAt(0).toLowerCase() + name.slice(1)
  return parts.map((part) => prefix + part) as { [K in keyof T]: string }
}
