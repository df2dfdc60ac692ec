
2
xPlaceholder*
shape
:*
dtype0
2
hPlaceholder*
shape
:*
dtype0
2
wPlaceholder*
shape
:*
dtype0
2
vPlaceholder*
shape
:*
dtype0
.
bPlaceholder*
shape:*
dtype0
.
dPlaceholder*
shape:*
dtype0
7
GRUBlockCellGRUBlockCellxhwvbd*
T0
&
yIdentityGRUBlockCell:3*
T0"ª