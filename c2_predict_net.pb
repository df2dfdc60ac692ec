
net
xy"Relu:x:wBy