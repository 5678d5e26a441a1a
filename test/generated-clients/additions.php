<?php

// Calls every operation with the PHP client of OpenAPI Generator, and prints the results as JSON.

// Debian's package of Guzzle, or what Composer installs.
require 'GuzzleHttp/autoload.php';

use OpenAPI\Client\ApiException;
use OpenAPI\Client\Configuration;
use OpenAPI\Client\ObjectSerializer;

$job = json_decode(stream_get_contents(STDIN));
spl_autoload_register(function (string $class) use ($job) {
    $file = $job->folder . '/lib/' . str_replace(['OpenAPI\\Client\\', '\\'], ['', '/'], $class) . '.php';
    if (is_file($file)) {
        require $file;
    }
});
// The client's own format drops the milliseconds.
ObjectSerializer::setDateTimeFormat('Y-m-d\TH:i:s.vP');

function bodyOf(object $call, string $class): mixed
{
    if (!is_string($call->body)) {
        return ObjectSerializer::deserialize($call->body, $class);
    }
    $file = new SplFileObject(tempnam(sys_get_temp_dir(), 'rows'), 'w+');
    $file->fwrite($call->body);
    $file->rewind();
    return $file;
}

/** Returns the required arguments. The parameters are named like those of the description, in snake case. */
function argumentsOf(object $call, ReflectionMethod $method): array
{
    $values = [];
    foreach ($call->parameters as $name => $value) {
        $values[strtolower(str_replace('-', '_', $name))] = $value;
    }
    $arguments = [];
    foreach ($method->getParameters() as $parameter) {
        $name = $parameter->getName();
        if (array_key_exists($name, $values)) {
            $arguments[$name] = $values[$name];
        } elseif (!$parameter->isOptional() || $name === lcfirst($call->body_schema ?? '')) {
            preg_match("/@param +([^ |]+)[^\n]* \\\${$name} /", $method->getDocComment(), $found);
            $arguments[$name] = bodyOf($call, $found[1]);
        }
    }
    return $arguments;
}

function resultOf(object $call, Configuration $configuration): array
{
    $type = 'OpenAPI\\Client\\Api\\' . ucfirst($call->tag) . 'Api';
    $method = new ReflectionMethod($type, "{$call->operation}WithHttpInfo");
    try {
        $api = new $type(null, $configuration);
        [$body, $status] = $method->invokeArgs($api, argumentsOf($call, $method));
    } catch (ApiException $error) {
        return ['status' => $error->getCode(), 'body' => json_decode($error->getResponseBody() ?? 'null')];
    } catch (Throwable $failure) {
        return ['thrown' => (string) $failure];
    }
    return ['status' => $status, 'body' => $body instanceof SplFileObject ? $body->fread(65536) : $body];
}

$results = [];
foreach ($job->urls as $url) {
    $configuration = (new Configuration())->setHost($url)->setAccessToken('token');
    $ofServer = [];
    foreach ($job->calls as $call) {
        $ofServer[$call->operation] = resultOf($call, $configuration);
    }
    $results[] = $ofServer;
}
echo json_encode($results, JSON_THROW_ON_ERROR);
